// Stages in YAML, and what is done about steps that are not finite, by the program.
#include <headrace/apps/job/read_job.h>
#include <headrace/apps/jobs/jobs.h>
#include <headrace/tests/apps/key_runs.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/torch_doctest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ops/equal.h>
#include <nlohmann/json.hpp>

namespace {

using headrace::test::contains;
using headrace::test::content_of;
using headrace::test::Finished;
using headrace::test::KeyFolder;
using headrace::test::KeyRun;
using headrace::test::newest_checkpoint;
using headrace::test::same_weights;
using headrace::test::TrainingFolder;
using nlohmann::json;

namespace fs = std::filesystem;

std::string two(const std::string& first, const std::string& second) {
  return "stages=[{epochs: 2, " + first + "}, {epochs: 1, " + second + "}]";
}

std::vector<json> bad_steps(const fs::path& run) {
  std::istringstream lines(content_of(run / "bad_steps.jsonl"));
  std::vector<json> rows;
  for (std::string line; std::getline(lines, line);)
    rows.push_back(json::parse(line));
  return rows;
}

// The third record of the training is not finite, one step in each epoch with it.
constexpr int spoilt = 24;

}  // namespace

TEST_CASE("stages are trained one after the other, each with what differs in it") {
  const KeyFolder folder;
  const KeyRun run = folder.train({two("name: warm, batch: 12, learning_rate: 0.002",
                                       "name: fine, schedule: {polynomial: 1}")});
  CHECK((run.column("stage") == std::vector<std::string>{"warm", "warm", "fine"}));
  CHECK((run.column("epoch") == std::vector<std::string>{"0", "1", "0"}));
  CHECK(run.numbers("learning_rate")[1] == 0.002);
  CHECK(run.numbers("learning_rate")[2] < 0.01);
  CHECK(run.numbers("steps")[2] > run.numbers("steps")[0]);
  const KeyRun unnamed = folder.train({two("batch: 8", "batch: 8")});
  CHECK((unnamed.column("stage") == std::vector<std::string>{"stage-1", "stage-1", "stage-2"}));
}

TEST_CASE("a stage that keeps moments goes on with those of the one before, another begins anew") {
  const KeyFolder folder;
  const auto steps = [&](const std::string& second) {
    const KeyRun run = folder.train({two("name: warm", "name: fine, " + second)});
    for (const auto& [name, tensor] : run.last().optimizer)
      if (name.ends_with(".step")) return tensor.item<float>();
    return 0.0F;
  };
  const float anew = steps("keep_moments: false");
  CHECK(anew > 0.0F);
  CHECK(steps("keep_moments: true") == 3.0F * anew);
}

TEST_CASE("a stage sees its records in an order of its own") {
  const headrace::app::TrainingJob job = headrace::app::read_training_text(
      headrace::app::jobs(),
      "kind: classification\nseed: 5\ndata: {train: {folder: a}}\n"
      "training: {schedule: constant, stages: [{epochs: 1}, {epochs: 2}]}\n",
      "a test", {});
  REQUIRE(job.config->stages.size() == 2);
  CHECK(job.config->stages[0]->seed == 5);
  CHECK(job.config->stages[1]->seed != 5);
}

TEST_CASE("keys that may change when a run goes on may do so in a stage, and no others") {
  const KeyFolder folder;
  const auto resumed = [&](const std::string& last) {
    return "training.stages=[{epochs: 1, batch: 12}, {epochs: 1, " + last + "}]";
  };
  const KeyRun run = folder.train({resumed("batch: 8").substr(9)});
  const auto resume = [&](const std::string& last) {
    return folder.run({"train", "--resume", run.folder().string(), "--set", resumed(last)});
  };
  CHECK(resume("batch: 8, evaluation_batch: 5, non_finite: abort").status == 0);
  const Finished other = resume("batch: 9");
  CHECK(other.status == 2);
  CHECK(contains(other.err, "training.stages.1.batch"));
}

TEST_CASE("a stage starts from the last weights, or from those that were best") {
  const KeyFolder folder;
  // The second epoch's rate is so high that the first epoch's weights are the better ones.
  const std::string first = "optimizer: sgd, schedule: {step: {every: 1, factor: 300}}";
  const KeyRun last = folder.train({two(first, "start: last")});
  const KeyRun best = folder.train({two(first, "start: best")});
  REQUIRE(last.numbers("val_loss")[1] > last.numbers("val_loss")[0]);
  CHECK_FALSE(same_weights(last, best));
}

TEST_CASE("loss, augmentation and what is frozen may differ between stages") {
  const KeyFolder folder;
  const auto train = [&](const std::string& second) {
    return folder.train({two("batch: 8", second)});
  };
  const KeyRun plain = train("batch: 8");
  CHECK_FALSE(same_weights(plain, train("loss: [{cross_entropy: {smoothing: 0.2}}]")));
  CHECK_FALSE(same_weights(plain, train("augment: [mixup]")));
  const KeyRun frozen = train("frozen: [fc1]");
  const KeyRun first = folder.train({"epochs=2"});
  CHECK(at::equal(frozen.weight("fc1.weight"), first.weight("fc1.weight")));
  CHECK_FALSE(at::equal(plain.weight("fc1.weight"), first.weight("fc1.weight")));
  CHECK_FALSE(at::equal(frozen.weight("head.weight"), first.weight("head.weight")));
}

TEST_CASE("a list of stages that is wrong is refused with the place of the fault") {
  const KeyFolder folder;
  const auto check_refused = [&](const std::string& stages, const std::string& words) {
    const Finished finished = folder.tried({"stages=" + stages});
    CHECK(finished.status == 2);
    CHECK_MESSAGE(contains(finished.err, words), finished.err);
  };
  check_refused("[{epoch: 3}]", "did you mean \"training.epochs\"?");
  check_refused("[{name: a}, {name: a}]", "name");
  check_refused("[3]", "training.stages.0");
  check_refused("[{member: 1}]", "member");
  check_refused("[{start: first}]", "start");
  check_refused("[{start: best}]", "the first has none");
  const Finished outside = folder.tried({"start=best"});
  CHECK(outside.status == 2);
  CHECK(contains(outside.err, "training.stages"));
}

TEST_CASE("a step that is not finite is skipped, counted and written down with its samples") {
  const KeyFolder folder(spoilt);
  const KeyRun run = folder.train({"data.split.validation=0.2"});
  const std::vector<json> bad = bad_steps(run.folder());
  REQUIRE(bad.size() == 3);  // once an epoch
  CHECK(bad[0]["done"] == "skipped");
  CHECK(bad[0]["loss"].is_null());
  CHECK(bad[0]["samples"].size() == 8);
  CHECK(bad[2]["epoch"] == 2);
  CHECK(contains(run.err(), "the step was skipped"));
  CHECK((run.numbers("train_skipped_steps") == std::vector<double>(3, 1.0)));
  CHECK(run.last().progress.skipped == 3);
  const Finished ended = folder.tried({"non_finite={skip: {in_a_row: 1}}"});
  CHECK(ended.status == 5);
}

TEST_CASE("a run may end at a step that is not finite, with exit 5") {
  const KeyFolder folder(spoilt);
  const Finished ended = folder.tried({"non_finite=abort"});
  CHECK(ended.status == 5);
  CHECK(contains(ended.err, "must be finite"));
  CHECK(contains(ended.err, "sample"));
  const std::vector<json> bad = bad_steps(folder.only_run("runs1"));
  REQUIRE(bad.size() == 1);
  CHECK(bad[0]["done"] == "aborted");
}

TEST_CASE("a run may go back to its newest checkpoint with lower rates, so many times") {
  const KeyFolder folder(spoilt);
  const Finished ended = folder.tried({"non_finite={reload: {factor: 0.5, times: 2}}"});
  CHECK(ended.status == 5);  // the same sample comes again each time
  CHECK(contains(ended.err, "with 0.5"));
  CHECK(contains(ended.err, "reload 2 of 2"));
  const std::vector<json> bad = bad_steps(folder.only_run("runs1"));
  REQUIRE(bad.size() == 3);
  CHECK(bad[1]["done"] == "reloaded");
  CHECK(bad[2]["done"] == "aborted");
}
