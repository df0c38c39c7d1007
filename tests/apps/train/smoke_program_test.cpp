// `headrace train --smoke`: a short run through every phase, and what it says of the full one.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/run/command.h>
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace app = headrace::app;
namespace fs = std::filesystem;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::count_of;
using headrace::test::Finished;
using Words = std::vector<std::string>;

constexpr const char* two_stages =
    "training.stages=[{name: head, epochs: 3}, {name: all, epochs: 2, batch: 32}]";

// 160 records to train on in each of five folds: 10 steps of 16, 5 of 32.
class SmokeTraining : public headrace::test::TrainingFolder {
 public:
  SmokeTraining()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\ntraining:\n"
            "  epochs: 2\n  batch: 16\n  evaluation_batch: 4\n  member: 0\n"
            "threads:\n  loader: 1\n  torch: 1\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 200, 40);
  }

  Finished smoke(const std::string& steps, const Words& settings) const {
    Words words = train(settings);
    words.insert(words.end(), {"--smoke", steps});
    return run(words);
  }
};

}  // namespace

TEST_CASE("a trial takes its steps through all stages and members, is resumed, and keeps nothing") {
  const SmokeTraining job;
  const Finished finished = job.smoke("4", {"training.member=null", "data.folds=2", two_stages});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  const std::string& said = finished.out;
  for (const char* words : {"fold 0  head", "fold 0  all", "fold 1  head", "fold 1  all",
                            "fold 0  test", "fold 1  test", "3 x 6", "2 x 3",
                            "resumed in 4 of 4 stages", "the full run takes about", "forecast"})
    CHECK_MESSAGE(contains(said, words), words << "\n" << said);
  CHECK(count_of(finished.err, "stopped halfway and saved") == 4);
  CHECK_FALSE(contains(said, "rough"));
  CHECK_FALSE(contains(finished.err, "to go on: "));
  CHECK_FALSE(fs::exists(job.path() / "runs"));
}

TEST_CASE("a trial of one step says that it is rough, and is judged by no goal") {
  const SmokeTraining job;
  const Finished finished = job.smoke("1", {"goals={time: 1ms, ram: 1MiB}"});
  REQUIRE_MESSAGE(finished.status == 0, finished.err);
  CHECK(contains(finished.out, "rough"));
  CHECK(contains(finished.out, "2 x 10"));
  CHECK_FALSE(contains(finished.out, "goal "));
}

TEST_CASE("a trial ends as the run would, and keeps what may say why") {
  const SmokeTraining job;
  const Finished finished =
      job.smoke("4", {"training.learning_rate=1e30", "training.non_finite=abort"});
  CHECK(finished.status == 5);
  REQUIRE(job.runs().size() == 1);
  CHECK(contains(
      finished.err,
      "is kept: " + fs::path("runs").append(job.runs().front().filename().string()).string()));
  CHECK(contains(content_of(job.runs().front() / "log.txt"), "finite"));
}

TEST_CASE("the section smoke holds with --smoke alone, over the keys of stages too") {
  const SmokeTraining job;
  const Words settings{two_stages, "smoke.training.batch=8"};
  const Finished tried = job.smoke("3", settings);
  REQUIRE_MESSAGE(tried.status == 0, tried.err);
  CHECK(contains(tried.out, "3 x 20"));
  CHECK(contains(tried.out, "2 x 20"));
  CHECK(contains(tried.out, "{training: {batch: 8}}"));
  const app::TrainingJob read =
      app::read_training_job(app::jobs(), job.path() / "job.yaml", settings);
  CHECK(read.config->of_stage(1).training.batch == 32);
  REQUIRE(read.shrunk);
  CHECK(read.shrunk->config->of_stage(1).training.batch == 8);
  CHECK(read.identity ==
        app::read_training_job(app::jobs(), job.path() / "job.yaml", {two_stages}).identity);
}

TEST_CASE("a key of the section smoke that is not known ends every run with exit 2") {
  const SmokeTraining job;
  const Finished finished = job.run(SmokeTraining::train({"smoke.training.batchs=8"}));
  CHECK(finished.status == 2);
  CHECK(contains(finished.err, "did you mean \"training.batch\"?"));
  CHECK(contains(finished.err, "section \"smoke\""));
  CHECK(job.run(SmokeTraining::train({"smoke.kind=leak"})).status == 2);
  CHECK(job.run(SmokeTraining::train({"smoke=8"})).status == 2);
  CHECK(job.runs().empty());
}

TEST_CASE("a trial is neither a dry run nor a resumed one") {
  const SmokeTraining job;
  Words words = SmokeTraining::train({});
  words.insert(words.end(), {"--smoke", "3", "--dry-run"});
  CHECK(job.run(words).status == 2);
  CHECK(job.run({"train", "--resume", "runs", "--smoke", "3"}).status == 2);
  CHECK(job.smoke("0", {}).status == 2);
}
