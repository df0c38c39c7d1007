// Presets as a person meets them: said first, then applied.
#include <headrace/tests/apps/glaucoma/data.h>
#include <headrace/tests/apps/picture_folder.h>
#include <headrace/tests/apps/training_runs.h>
#include <headrace/tests/support/content_of.h>

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using headrace::test::best_weights;
using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::run_headrace;
using headrace::test::TemporaryFolder;

using Words = std::vector<std::string>;

class Job : public headrace::test::TrainingFolder {
 public:
  Job()
      : TrainingFolder(
            "kind: glaucoma\nseed: 7\ndevice: cpu\ndata:\n  file: data.h5\n  prefetch: 3\n"
            "training:\n  epochs: 1\n  batch: 32\n  evaluation_batch: 64\n  member: 0\n"
            "memory: {measure: false}\n") {
    headrace::test::write_glaucoma_data(path() / "data.h5", 120, 40);
  }

  Finished train(const Words& more) const {
    Words words = TrainingFolder::train({"threads.loader=1", "threads.torch=1"});
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

}  // namespace

TEST_CASE("a training says what its preset sets before it begins, and learns the same") {
  const Job job;
  REQUIRE(job.train({}).status == 0);
  const Finished with = job.train({"--preset", "conservative", "--set", "runs=others"});
  REQUIRE_MESSAGE(with.status == 0, with.err);
  const auto said = with.err.find("preset conservative\n");
  REQUIRE(said != std::string::npos);
  CHECK(said < with.err.find("run folder"));
  CHECK(contains(with.err, "3 -> 2 (batches ready ahead)"));
  CHECK(contains(with.err, "64 -> 32 (evaluation takes no more than training)"));
  const std::string kept = content_of(job.only_run("others") / "config.yaml");
  CHECK(contains(kept, "\n  prefetch: 2"));
  CHECK(contains(kept, "\n  evaluation_batch: 32"));
  CHECK(contains(kept, "\n  loader: 1"));  // as --set said
  CHECK(best_weights(job.only_run()) == best_weights(job.only_run("others")));
}

TEST_CASE("a preset is also for profile-memory, for a run that goes on, and is refused by name") {
  const Job job;
  REQUIRE(job.train({}).status == 0);
  const Finished goes_on =
      job.run({"train", "--resume", job.only_run().string(), "--preset", "card-8gb"});
  CHECK_MESSAGE(goes_on.status == 0, goes_on.err);
  CHECK(contains(goes_on.err, "null -> 7GiB (90 % of 8.00 GiB)"));
  const Finished profile = job.run({"profile-memory", "job.yaml", "--preset", "balanced"});
  CHECK_MESSAGE(profile.status == 0, profile.err);
  CHECK(contains(profile.err, "preset balanced\n"));
  const Finished wrong = job.train({"--preset", "balancd"});
  CHECK(wrong.status == 2);
  CHECK(contains(wrong.err, "did you mean balanced?"));
}

TEST_CASE("a configuration that is proposed with a preset has it, with the reason") {
  const TemporaryFolder folder;
  headrace::test::write_png_pictures(folder.path() / "images", 8);
  const Words words{"new", "classification", "--data", "images"};
  const Finished plain = run_headrace(folder.path(), words);
  REQUIRE_MESSAGE(plain.status == 0, plain.err);
  CHECK_FALSE(contains(plain.out, "preset"));
  Words wanted = words;
  wanted.insert(wanted.end(), {"--preset", "conservative", "--output", "job.yaml"});
  const Finished found = run_headrace(folder.path(), wanted);
  REQUIRE_MESSAGE(found.status == 0, found.err);
  CHECK(contains(found.err, "preset conservative\n"));
  const std::string text = content_of(folder.path() / "job.yaml");
  CHECK(contains(text, "chosen: preset conservative: batches ready ahead"));
  CHECK(contains(text, "\n  prefetch: 2"));
}
