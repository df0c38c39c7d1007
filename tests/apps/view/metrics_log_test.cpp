// What is kept of a run's figures, step by step.
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/view/epoch_table.h>
#include <headrace/apps/view/metrics_log.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using app::MetricsLog;
using app::RunFolder;
using app::StepRows;
using test::contains;
using test::content_of;

namespace {

app::StepFacts step(std::int64_t number, std::optional<double> loss, double norm = 1.0) {
  app::StepFacts step{.epoch = 1,
                      .step = number,
                      .samples = 4,
                      .learning_rate = 0.25,
                      .loss = loss,
                      .times = {.wall_s = 0.5}};
  if (!loss) return step;
  step.terms = {{"loss_a", *loss / 2.0}, {"loss_b", 10.0 * *loss}};
  step.gradient_norm = norm;
  return step;
}

}  // namespace

TEST_CASE("a row has the means of what was read since the row before") {
  StepRows rows(3);
  CHECK_FALSE(rows.add(step(1, 1.0, 2.0)).has_value());
  CHECK_FALSE(rows.add(step(2, std::nullopt)).has_value());
  const auto row = rows.add(step(3, 2.0, 5.0));
  REQUIRE(row.has_value());
  CHECK(row->epoch == 1);
  CHECK(row->step == 3);
  CHECK(row->learning_rate == 0.25);
  CHECK((row->figures ==
         app::Figures{{"loss", 1.5}, {"loss_a", 0.75}, {"loss_b", 15.0}, {"gradient_norm", 3.5}}));
  CHECK(row->samples_per_s == 8.0);
  CHECK_FALSE(rows.rest().has_value());
  CHECK_FALSE(rows.add(step(4, std::nullopt)).has_value());
  const auto rest = rows.rest();
  REQUIRE(rest.has_value());
  CHECK(rest->step == 4);
  CHECK(rest->figures.empty());
}

TEST_CASE("figures that are not finite are in no mean") {
  StepRows rows(2);
  rows.add(step(1, 1.0, std::numeric_limits<double>::infinity()));
  const auto row = rows.add(step(2, app::EpochFacts::none, 3.0));
  REQUIRE(row.has_value());
  CHECK(app::figure(row->figures, "loss") == 1.0);
  CHECK(app::figure(row->figures, "gradient_norm") == 3.0);
}

TEST_CASE("what was gathered of steps that are done again is forgotten") {
  StepRows rows(4);
  for (const int number : {1, 2, 3, 2})
    CHECK_FALSE(rows.add(step(number, number == 2 ? 1.0 : 8.0)).has_value());
  rows.add(step(3, 2.0));
  const auto row = rows.add(step(4, 3.0));
  REQUIRE(row.has_value());
  CHECK(app::figure(row->figures, "loss") == 2.0);
}

TEST_CASE("where no number of steps is asked for, the first step has a row and then time decides") {
  StepRows rows(0);
  CHECK(rows.add(step(1, 1.0)).has_value());
  CHECK_FALSE(rows.add(step(2, 1.0)).has_value());
}

TEST_CASE("metrics.jsonl has the terms of the loss and, where there are several, the stage") {
  const test::TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path(), "run");
  MetricsLog log(run, {.every = 2, .tensorboard = false}, {});
  log.begin_fold({.fold = 3, .stage = "head"});
  for (int number = 1; number <= 3; ++number)
    log.on_step(step(number, 1.0));
  log.end_steps();
  CHECK(content_of(run.path() / "metrics.jsonl") ==
        R"({"member":3,"stage":"head","epoch":1,"step":2,"loss":1.0,"loss_a":0.5,"loss_b":10.0,)"
        R"("gradient_norm":1.0,"learning_rate":0.25,"samples_per_s":8.0})"
        "\n"
        R"({"member":3,"stage":"head","epoch":1,"step":3,"loss":1.0,"loss_a":0.5,"loss_b":10.0,)"
        R"("gradient_norm":1.0,"learning_rate":0.25,"samples_per_s":8.0})"
        "\n");
  CHECK_FALSE(std::filesystem::exists(run.tensorboard()));
}

TEST_CASE("where tb/ cannot be made there is one warning, and all else is written") {
  const test::TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path(), "run");
  std::ofstream(run.tensorboard()) << "a file";
  std::vector<std::string> warnings;
  MetricsLog log(run, {.every = 1}, [&](const std::string& line) { warnings.push_back(line); });
  log.begin_fold({});
  log.on_step(step(1, 1.0));
  log.on_step(step(2, 1.0));
  log.on_epoch({.step = 2, .train = {{"loss", 1.0}}}, {});
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], run.tensorboard().string()));
  const std::string rows = content_of(run.path() / "metrics.jsonl");
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 3);
}

TEST_CASE("the steps before a stage are those of the member's stages before it") {
  const std::string metrics =
      "member,stage,epoch,step\n0,head,0,10\n0,head,1,20\n1,head,0,7\n0,all,0,5\n0,fine,0,3\n";
  CHECK(app::steps_before_stage(app::read_csv(metrics), 0, "head") == 8);
  CHECK(app::steps_before_stage(app::read_csv(metrics), 0, "fine") == 25);
  CHECK(app::steps_before_stage(app::read_csv(metrics), 1, "all") == 7);
  CHECK(app::steps_before_stage(app::read_csv("member,epoch,step\n0,0,9\n"), 0, "all") == 0);
  CHECK(app::steps_before_stage({}, 0, "all") == 0);
}

TEST_CASE("the log shows the terms of the loss, beside it and for each epoch") {
  const test::TemporaryFolder folder;
  RunFolder run = RunFolder::create(folder.path(), "run");
  Loader loader = Pipeline::from(SyntheticSource({.rows = 8})).batch({.size = 4}).build();
  const monitor::MemoryWatch memory;
  const auto train = [&](const char* columns, app::LogLevel level = app::LogLevel::info) {
    const test::Environment width("COLUMNS", columns);
    app::RunView view(run, {.level = level});
    view.begin_fold({.samples_per_epoch = 100}, loader);
    app::StepFacts one = step(1, 1.0);
    one.epoch = 0;
    view.on_step(one);
    one.step = 2;
    one.epoch_samples = 4;
    view.on_step(one);
    view.on_train_epoch_end();
    view.on_epoch({.train = {{"loss", 1.0}, {"loss_a", 0.5}, {"loss_b", 0.125}},
                   .validation = {{"loss", 1.0}, {"loss_a", 0.25}}},
                  memory);
    view.end_fold();
    return content_of(run.path() / "log.txt");
  };
  const std::string narrow = train("60");
  CHECK(contains(narrow, "loss 1.0000 lr 0.25"));
  CHECK_FALSE(contains(narrow, "loss 1.0000 (a"));
  CHECK(contains(narrow, "info loss terms: train a 0.5000, b 0.1250; validation a 0.2500\n"));
  CHECK_FALSE(contains(narrow, "trace"));
  CHECK(contains(train("200"), "loss 1.0000 (a 0.5000, b 10.0000) lr 0.25"));
  CHECK(contains(train("60", app::LogLevel::trace), "; loss 1.0000 (a 0.5000, b 10.0000)\n"));
}
