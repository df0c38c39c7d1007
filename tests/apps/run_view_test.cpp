// What a training run shows of itself.
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/train/run_view.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <chrono>
#include <string>
#include <thread>

#include <doctest/doctest.h>

using namespace headrace;
using app::ShownLoss;
using test::content_of;

TEST_CASE("a line's loss is the mean since the line before, or the last that was read") {
  ShownLoss loss;
  CHECK_FALSE(loss.next().has_value());
  loss.add(std::nullopt);
  CHECK_FALSE(loss.next().has_value());
  loss.add(1.0);
  loss.add(std::nullopt);
  loss.add(2.0);
  CHECK(loss.next() == 1.5);
  loss.add(std::nullopt);
  CHECK(loss.next() == 1.5);
  loss.add(0.0);
  CHECK(loss.next() == 0.0);
}

TEST_CASE("no loss is shown before one was read") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  Loader loader = Pipeline::from(SyntheticSource({.rows = 8})).batch({.size = 4}).build();
  {
    app::RunView view(run, false);
    view.begin_fold({.epochs = 1, .samples_per_epoch = 100}, loader);
    view.on_step({.step = 1, .samples = 2, .epoch_samples = 2});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    view.on_step({.step = 2, .samples = 2, .epoch_samples = 4, .learning_rate = 1e-3});
    view.end_fold();
  }
  const std::string log = content_of(run.path() / "log.txt");
  CHECK(log.find("samples/s") != std::string::npos);
  CHECK(log.find("lr 0.001") != std::string::npos);
  CHECK(log.find("loss") == std::string::npos);
  const std::string metrics = content_of(run.path() / "metrics.jsonl");
  CHECK(metrics.find("\"step\":2") != std::string::npos);
  CHECK(metrics.find("\"loss\":null") != std::string::npos);
}

TEST_CASE("an epoch's verdict is about its own batches, though rows of them were bad") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const monitor::MemoryWatch memory({}, [](const monitor::MemoryEvent&) {});
  Loader loader = Pipeline::from(SyntheticSource({.rows = 96})).batch({.size = 4}).build();
  app::RunView view(run, false);
  view.begin_fold({.epochs = 1, .samples_per_epoch = 96}, loader);
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  for (const Batch& batch : loader.epoch(0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    samples += batch.size() - (steps == 0 ? 1 : 0);
    view.on_step({.step = ++steps,
                  .samples = batch.size(),
                  .epoch_samples = samples,
                  .times = {.wall_s = .02, .data_wait_s = .01, .compute_s = .01}});
  }
  REQUIRE(samples == 95);
  view.on_train_epoch_end();
  view.on_epoch({.steps = steps}, memory);
  const std::string log = content_of(run.path() / "log.txt");
  CAPTURE(log);
  CHECK(log.find("holds the loader back") != std::string::npos);
}
