// What a training run shows of itself.
#include <headrace/apps/feed/plan_table.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/terminal/text_width.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/apps/text_checks.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace headrace;
using app::ShownLoss;
using test::content_of;
using test::count_of;
using test::Environment;

namespace {

// Standard error leads there for the length of a block.
class ErrorsTo {
 public:
  explicit ErrorsTo(int descriptor) : before_(dup(STDERR_FILENO)) {
    REQUIRE(dup2(descriptor, STDERR_FILENO) >= 0);
  }
  ErrorsTo(const ErrorsTo&) = delete;
  ErrorsTo& operator=(const ErrorsTo&) = delete;
  ~ErrorsTo() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }

 private:
  int before_;
};

struct Told {
  std::string shown;  // on standard error
  std::string log;
  std::string csv;
};

constexpr std::int64_t told_epochs = 3;

// Two pairs of classes of three epochs each, without a loader at work.
Told tell(const test::Ends& errors, app::LogLevel level = app::LogLevel::info) {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const monitor::MemoryWatch memory;
  Loader loader = Pipeline::from(SyntheticSource({.rows = 8})).batch({.size = 4}).build();
  Told told;
  {
    const ErrorsTo redirected(errors.write);
    app::RunView view(run, {.level = level});
    for (int pair = 0; pair < 2; ++pair) {
      view.begin_fold({.fold = pair,
                       .epochs = told_epochs,
                       .samples_per_epoch = 40,
                       .member = "pair " + std::to_string(pair)},
                      loader);
      for (std::int64_t epoch = 0; epoch < told_epochs; ++epoch) {
        for (std::int64_t step = 1; step <= 10; ++step) {
          view.on_step(
              {.epoch = epoch,
               .step = step,
               .samples = 4,
               .epoch_samples = 4 * step,
               .times = {.wall_s = .02, .data_wait_s = step == 7 ? .004 : .001, .compute_s = .01}});
        }
        view.on_train_epoch_end();
        view.on_epoch({.epoch = epoch,
                       .train = {{"loss", 0.5}, {"accuracy", 0.75}},
                       .validation = {{"loss", 0.25}, {"accuracy", 0.875}, {"f1", 0.625}},
                       .selected_by = "f1",
                       .steps = 10,
                       .seconds = 1.0},
                      memory);
        told.shown += errors.drain();
      }
      view.end_fold();
    }
    told.shown += errors.drain();
  }
  told.log = content_of(run.path() / "log.txt");
  told.csv = content_of(run.path() / "metrics.csv");
  return told;
}

// What carries no time: the table, and on a terminal the live block.
std::vector<std::string> table_lines(const std::string& shown) {
  std::vector<std::string> lines;
  std::istringstream stream(shown);
  for (std::string line; std::getline(stream, line);) {
    line.erase(std::remove(line.begin(), line.end(), '\r'), line.end());
    if (const auto escape = line.rfind("\x1b[2K"); escape != std::string::npos)
      line.erase(0, escape + 4);
    if (line.find("Z ") == std::string::npos) lines.push_back(line);
  }
  return lines;
}

}  // namespace

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
    app::RunView view(run, {.metrics = {.every = 1}});
    view.begin_fold({.epochs = 1, .samples_per_epoch = 100}, loader);
    view.on_step({.step = 1, .samples = 2, .epoch_samples = 2});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    view.on_step({.step = 2, .samples = 2, .epoch_samples = 4, .learning_rate = 1e-3});
    view.end_fold();
  }
  const std::string log = content_of(run.path() / "log.txt");
  CHECK(log.find("samples/s") != std::string::npos);
  CHECK(log.find(" info epoch 1/1 ") != std::string::npos);  // no name where there is one member
  CHECK(log.find("lr 0.001") != std::string::npos);
  CHECK(log.find("loss") == std::string::npos);
  const std::string metrics = content_of(run.path() / "metrics.jsonl");
  CHECK(metrics.find("\"step\":2") != std::string::npos);
  CHECK(metrics.find("\"loss\":null") != std::string::npos);
}

TEST_CASE("an epoch's verdict is about its own batches, though rows of them were bad") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const monitor::MemoryWatch memory;
  Loader loader = Pipeline::from(SyntheticSource({.rows = 96})).batch({.size = 4}).build();
  app::RunView view(run);
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

TEST_CASE("all epochs of a run are a line each under one head, without escapes off a terminal") {
  const Environment columns("COLUMNS", nullptr);
  const Told told = tell(test::make_pipe());
  CAPTURE(told.shown);
  CHECK(count_of(told.shown, "epoch   train") == 1);
  CHECK(count_of(told.shown, "accuracy") == 1);
  CHECK(count_of(told.shown, "pair 0\n") == 1);
  CHECK(count_of(told.shown, "pair 1\n") == 1);
  CHECK(told.shown.find('\x1b') == std::string::npos);
  CHECK(told.shown.find('\r') == std::string::npos);
  const auto lines = table_lines(told.shown);
  CHECK(lines.size() == 3 + 2 * (1 + told_epochs));  // head, and of each pair its name and epochs
  for (const std::string& line : lines)
    CHECK_MESSAGE(app::text_width(line) <= 100, line);
  CHECK(count_of(told.log, "info 1/3") == 2);
  CHECK(count_of(told.log, "info step 20 ms = data ") == 2 * told_epochs);
}

TEST_CASE("the table never wraps on terminals of 100, 80 and 60 columns") {
  const Environment none("COLUMNS", nullptr);
  const Environment no_ci("CI", nullptr);
  for (const char* term : {"xterm", "dumb"}) {
    const Environment kind("TERM", term);
    for (const unsigned short columns : {100, 80, 60}) {
      CAPTURE(columns);
      const Told told = tell(test::make_terminal(columns));
      const auto lines = table_lines(told.shown);
      CHECK(count_of(told.shown, "accuracy") == 1);
      for (const std::string& line : lines)
        CHECK_MESSAGE(app::text_width(line) <= columns, line);
      const auto epochs = std::count_if(lines.begin(), lines.end(),
                                        [](const auto& line) { return line.find("/3 ") == 1; });
      CHECK(epochs == 2 * told_epochs);
      const auto budgets = std::count_if(
          lines.begin(), lines.end(), [](const auto& line) { return line.starts_with("  step "); });
      CHECK(budgets == (columns < 100 ? 2 * told_epochs : 0));
    }
  }
}

TEST_CASE("a verdict is said again when it changes, and is in the log for every epoch") {
  const Told told = tell(test::make_pipe());
  CHECK(count_of(told.shown, "cannot tell") == 1);
  CHECK(count_of(told.log, "cannot tell") == 2 * told_epochs);
}

TEST_CASE("every figure of an epoch is a column of metrics.csv") {
  const Told told = tell(test::make_pipe());
  CHECK(told.csv.starts_with(
      "member,epoch,step,train_loss,train_accuracy,val_loss,val_accuracy,val_f1,improved,"));
  CHECK(count_of(told.csv, ",0.5,0.75,0.25,0.875,0.625,") == 2 * told_epochs);
}

TEST_CASE("at debug each epoch says the mean and the longest wait for data, at trace each step") {
  const std::string line = "debug data wait: mean 1.30 ms, longest 4.00 ms (step 7), over 10 steps";
  const Told told = tell(test::make_pipe(), app::LogLevel::debug);
  CHECK(count_of(told.shown, line) == 2 * told_epochs);
  CHECK(count_of(told.log, line) == 2 * told_epochs);
  CHECK(count_of(told.log, "trace ") == 0);
  const Told all = tell(test::make_pipe(), app::LogLevel::trace);
  CHECK(count_of(all.shown, "trace step 7: 20.0 ms = data 4.00 ms + ") == 2 * told_epochs);
  CHECK(count_of(tell(test::make_pipe()).log, "data wait: mean") == 0);
}

TEST_CASE("at warn the terminal hears of no epoch, and the log still does") {
  const Told told = tell(test::make_pipe(), app::LogLevel::warn);
  CHECK(told.shown.empty());
  CHECK(count_of(told.log, "info 1/3") == 2);
  CHECK(count_of(told.log, "samples/s") > 0);
}

TEST_CASE("reading data into memory is told with its time, where there is any") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const test::Ends errors = test::make_pipe();
  {
    const ErrorsTo redirected(errors.write);
    app::RunView view(run);
    view.data_read(0, 1.0);
    view.data_read(3ULL << 30, 2.5);
  }
  const std::string shown = errors.drain();
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 1);
  CHECK(shown.find("data in memory: 3.00 GiB read in 2.50 s") != std::string::npos);
}

TEST_CASE("what a source says goes to the log and above the block while a run is shown") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const test::Ends errors = test::make_pipe();
  {
    const ErrorsTo redirected(errors.write);
    {
      app::RunView view(run);
      app::log_table(headrace::LogLevel::warning, "[hdf5] slow\x1b[2J to read");
      app::log_table(headrace::LogLevel::info, "[stage] half of it");
      app::log_table(headrace::LogLevel::info, "[hdf5] opened");
    }
    app::log_table(headrace::LogLevel::warning, "[hdf5] behind the run");
  }
  const std::string shown = errors.drain();
  const std::string log = content_of(run.path() / "log.txt");
  CAPTURE(shown);
  for (const std::string& text : {shown, log}) {
    CHECK(count_of(text, "Z warning [hdf5] slow") == 1);
    CHECK(count_of(text, "Z info [stage] half of it") == 1);
    CHECK(count_of(text, "\x1b") == 0);
    CHECK(count_of(text, "opened") == 0);
  }
  CHECK(shown.ends_with("\n[hdf5] behind the run\n"));
  CHECK(count_of(log, "behind the run") == 0);
}

TEST_CASE("what a person needs is told at every level, once") {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const test::Ends errors = test::make_pipe();
  {
    const ErrorsTo redirected(errors.write);
    app::RunView view(run, {.level = app::LogLevel::error});
    view.info("heard by the log alone");
    view.tell("to go on: headrace");
  }
  const std::string shown = errors.drain();
  CHECK(std::count(shown.begin(), shown.end(), '\n') == 1);
  CHECK(shown.ends_with("Z info to go on: headrace\n"));
  const std::string log = content_of(run.path() / "log.txt");
  CHECK(count_of(log, "info to go on: headrace") == 1);
  CHECK(count_of(log, "info heard by the log alone") == 1);
}
