// The configuration that a training works on, and what the run folder keeps.
#include <headrace/apps/backend/training_backend.h>
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/apps/train/train.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::ExitCode;
using app::TrainingJob;
using app::TrainOptions;

namespace {

// A configuration as a file, and as the one of a run folder.
class WrittenJob {
 public:
  explicit WrittenJob(const std::string& training) {
    for (const char* name : {"job.yaml", "config.yaml"})
      std::ofstream(folder_.path() / name)
          << "kind: glaucoma\ndata: {file: x.h5, folds: 3}\n" + training;
  }

  TrainOptions begun() const { return {.config = folder_.path() / "job.yaml"}; }
  TrainOptions resumed() const { return {.resume = folder_.path()}; }

 private:
  test::TemporaryFolder folder_;
};

// Instead of LibTorch: members that are at once what they come to.
class PretendedRun final : public app::TrainingRun {
 public:
  PretendedRun(const TrainingJob& job, std::vector<std::int64_t>& trained)
      : member_(job.config->training.member), trained_(trained) {}

  std::vector<std::int64_t> members() const override {
    return member_ ? std::vector{*member_} : std::vector<std::int64_t>{0, 1, 2};
  }
  std::string memory_key() const override { return {}; }
  app::MeasuredMemory measure(const app::MeasureOptions&) const override { return {}; }
  app::MemoryPlan plan(const app::MeasuredMemory&) const override {
    return {.stages = {{.name = "train"}}};
  }
  app::PaceResult pace(const app::PaceOptions&) const override { return {}; }
  void try_out(app::SmokeTrial&) override {}
  std::uint64_t open() override { return 0; }
  app::FoldOutcome train(std::int64_t member, const std::filesystem::path&, app::RunView&,
                         const monitor::MemoryWatch&, std::stop_token) override {
    trained_.push_back(member);
    return {.member = "fold " + std::to_string(member)};
  }
  std::vector<app::FoldOutcome> finished(const std::filesystem::path&) const override {
    std::vector<app::FoldOutcome> done;
    for (const std::int64_t member : trained_)
      done.push_back({.member = "fold " + std::to_string(member)});
    return done;
  }
  std::optional<std::uint64_t> most_reserved() const override { return std::nullopt; }
  headrace::Runtime runtime() const override { return headrace::Runtime::process_default(); }
  std::uint64_t tensor_bytes() const override { return 0; }
  std::optional<monitor::AllocatorCounters> allocator() const override { return std::nullopt; }
  std::optional<app::TestReview> review(const std::filesystem::path&,
                                        std::stop_token) const override {
    return app::TestReview{};
  }

 private:
  std::optional<std::int64_t> member_;
  std::vector<std::int64_t>& trained_;
};

class PretendedBackend final : public app::TrainingBackend {
 public:
  std::vector<std::int64_t> trained;

  std::string version() const override { return "none"; }
  std::string cuda_version() const override { return {}; }
  void set_threads(int) override {}
  void limit_memory(const headrace::Device&, std::uint64_t) override {}
  app::ChosenDevice choose_device(app::DeviceChoice) override { return {}; }
  std::unique_ptr<app::TrainingRun> make_run(const TrainingJob& job,
                                             const app::ChosenDevice&) override {
    app::log_table(headrace::LogLevel::warning, "[data] has no split");
    return std::make_unique<PretendedRun>(job, trained);
  }
  ExitCode predict(const app::PredictOptions&) override { return ExitCode::done; }
  ExitCode evaluate(const app::EvaluateOptions&) override { return ExitCode::done; }
  ExitCode export_weights(const app::ExportOptions&) override { return ExitCode::done; }
  ExitCode run(const std::function<ExitCode()>& command) override { return command(); }
};

ExitCode train(const TrainOptions& options, PretendedBackend& backend) {
  return app::train(options, {.arguments = {"headrace"}, .jobs = app::jobs(), .backend = &backend});
}

bool keeps(const TrainingJob& job, const std::string& line) {
  return job.yaml.find("  " + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("the member of a call is trained alone, and the run keeps that it is of all") {
  const WrittenJob written("");
  for (TrainOptions options : {written.begun(), written.resumed()}) {
    options.member = 1;
    const TrainingJob job = app::read_train_job(options, app::jobs());
    CHECK(job.config->training.member == 1);
    CHECK(keeps(job, "member: null"));
    options.member = 3;
    CHECK_THROWS_WITH_AS(app::read_train_job(options, app::jobs()),
                         doctest::Contains("training.member"), ConfigError);
  }
}

TEST_CASE("a member that the configuration names is kept, whatever the call is for") {
  const WrittenJob written("training: {member: 2}\n");
  TrainOptions options = written.resumed();
  CHECK(app::read_train_job(options, app::jobs()).config->training.member == 2);
  options.member = 0;
  const TrainingJob job = app::read_train_job(options, app::jobs());
  CHECK(job.config->training.member == 0);
  CHECK(keeps(job, "member: 2"));
  options.settings = {"threads.loader=2", "training.member=1"};
  CHECK(keeps(app::read_train_job(options, app::jobs()), "member: 1"));
}

TEST_CASE("a run goes on with what it began with, the member and the logs aside") {
  const WrittenJob written("");
  TrainOptions options = written.resumed();
  options.settings = {"training.learning_rate=0.5"};
  CHECK_THROWS_WITH_AS(app::read_train_job(options, app::jobs()),
                       doctest::Contains("learning_rate"), ConfigError);
  options.settings = {"training.member=1", "tensorboard=false", "log_every=5"};
  const TrainingJob job = app::read_train_job(options, app::jobs());
  CHECK(job.config->training.member == 1);
  CHECK_FALSE(job.config->tensorboard);
  CHECK(job.config->log_every == 5);
}

TEST_CASE("a run whose folds are trained call by call has all of them in the end") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml")
      << "kind: glaucoma\nruns: " + (folder.path() / "runs").string() +
             "\ndata: {file: x.h5, folds: 3}\n";
  PretendedBackend backend;
  TrainOptions options{.config = folder.path() / "job.yaml", .member = 2};
  REQUIRE(train(options, backend) == ExitCode::done);
  const auto run = std::filesystem::directory_iterator(folder.path() / "runs")->path();
  const std::string kept = test::content_of(run / "config.yaml");
  options = {.resume = run, .member = 1};
  REQUIRE(train(options, backend) == ExitCode::done);
  CHECK(test::content_of(run / "config.yaml") == kept);
  options = {.resume = run};
  REQUIRE(train(options, backend) == ExitCode::done);
  CHECK(backend.trained == std::vector<std::int64_t>{2, 1, 0, 1, 2});
}

TEST_CASE("what sources say before there is a run folder stands in its log") {
  const test::TemporaryFolder folder;
  std::ofstream(folder.path() / "job.yaml")
      << "kind: glaucoma\nruns: " + (folder.path() / "runs").string() +
             "\ndata: {file: x.h5, folds: 3}\n";
  PretendedBackend backend;
  REQUIRE(train({.config = folder.path() / "job.yaml"}, backend) == ExitCode::done);
  const auto run = std::filesystem::directory_iterator(folder.path() / "runs")->path();
  CHECK(test::content_of(run / "log.txt").find("[data] has no split\n") != std::string::npos);
}
