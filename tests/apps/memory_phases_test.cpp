// What is told of the memory that phases of a run took.
#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/train/memory_phases.h>
#include <headrace/apps/train/run_view.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/support/content_of.h>
#include <headrace/tests/support/temporary_folder.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include <unistd.h>

using namespace headrace;
using app::PhaseFacts;
using app::RunPhase;
using test::content_of;

namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1024 * mib;

PhaseFacts phase(RunPhase of, std::int64_t epoch, std::uint64_t tensors, bool on_gpu = false) {
  return {.phase = of,
          .epoch = epoch,
          .memory = {.allocated = tensors,
                     .peak = 2 * tensors,
                     .reserved = 3 * tensors,
                     .peak_reserved = 3 * tensors,
                     .inactive_split = mib,
                     .on_gpu = on_gpu,
                     .process = {.anonymous = 4 * gib + tensors}},
          .limits = {.process = 64 * gib, .gpu = 16 * gib}};
}

struct Told {
  std::string shown;
  std::string log;
  std::string advice;
  std::string rows;
  app::CsvTable table;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

// A stage of so many epochs with an evaluation each, whose tensors grow by so much an epoch.
Told tell(std::int64_t epochs, std::uint64_t growth, app::LogLevel level = app::LogLevel::info,
          bool on_gpu = false) {
  const test::TemporaryFolder folder;
  app::RunFolder run = app::RunFolder::create(folder.path(), "run");
  const monitor::MemoryWatch memory;
  Loader loader = Pipeline::from(SyntheticSource({.rows = 8})).batch({.size = 4}).build();
  const test::Ends errors = test::make_pipe();
  const int before = dup(STDERR_FILENO);
  REQUIRE(dup2(errors.write, STDERR_FILENO) >= 0);
  {
    app::RunView view(run, {.on_gpu = on_gpu, .level = level});
    view.begin_fold({.epochs = epochs, .samples_per_epoch = 4, .stage = "warm"}, loader);
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      const std::uint64_t tensors = 512 * mib + static_cast<std::uint64_t>(epoch) * growth;
      view.on_step({.epoch = epoch, .step = epoch + 1, .samples = 4, .epoch_samples = 4});
      view.on_train_epoch_end();
      view.on_phase(phase(RunPhase::training, epoch, tensors, on_gpu));
      view.on_phase(phase(RunPhase::evaluation, epoch, 64 * mib, on_gpu));
      view.on_epoch({.epoch = epoch, .step = epoch + 1, .train = {{"loss", 0.5}}, .steps = 1},
                    memory);
    }
    view.end_fold();
    view.on_phase(phase(RunPhase::end_of_stage, 0, 128 * mib, on_gpu));
    view.on_phase(phase(RunPhase::test, 0, 32 * mib, on_gpu));
  }
  dup2(before, STDERR_FILENO);
  close(before);
  return {.shown = errors.drain(),
          .log = content_of(run.path() / "log.txt"),
          .advice = content_of(run.path() / "advice.jsonl"),
          .rows = content_of(run.path() / "metrics.jsonl"),
          .table = app::read_csv_file(run.path() / "metrics.csv")};
}

std::string cell(const app::CsvTable& table, std::size_t row, const std::string& column) {
  const auto found = std::ranges::find(table.columns, column);
  REQUIRE_MESSAGE(found != table.columns.end(), column);
  return table.rows.at(row).at(static_cast<std::size_t>(found - table.columns.begin()));
}

}  // namespace

TEST_CASE("each phase is a line of the log, and of the terminal from debug on") {
  const std::string training = "info memory of training, epoch 2: tensors 512 MiB, peak 1.00 GiB; ";
  const std::string evaluation = "info memory of evaluation, epoch 2: tensors 64.0 MiB, ";
  const std::string end = "info memory of end of stage: tensors 128 MiB, ";
  const std::string test = "info memory of test: tensors 32.0 MiB, ";
  const Told told = tell(2, 0);
  const Told verbose = tell(2, 0, app::LogLevel::debug);
  for (const std::string& line : {training, evaluation, end, test}) {
    CAPTURE(line);
    CHECK(count(told.log, line) == 1);
    CHECK(count(told.shown, line) == 0);
    CHECK(count(verbose.log, line) == 1);
    CHECK(count(verbose.shown, line) == 1);
  }
  CHECK(count(told.log, "memory of ") == 6);
}

TEST_CASE("an epoch's row has its training and its evaluation") {
  const Told told = tell(3, mib);
  REQUIRE(told.table.rows.size() == 3);
  CHECK(cell(told.table, 2, "training_tensors_bytes") == std::to_string(514 * mib));
  CHECK(cell(told.table, 2, "training_tensors_peak_bytes") == std::to_string(1028 * mib));
  CHECK(cell(told.table, 2, "training_process_bytes") == std::to_string(4 * gib + 514 * mib));
  CHECK(cell(told.table, 2, "evaluation_tensors_peak_bytes") == std::to_string(128 * mib));
  CHECK(count(told.rows, "\"training_tensors_bytes\":" + std::to_string(514 * mib)) == 1);
  CHECK(std::ranges::find(told.table.columns, "training_reserved_bytes") ==
        told.table.columns.end());
}

TEST_CASE("what was of an epoch is not of the next") {
  app::MemoryPhases phases;
  phases.add(phase(RunPhase::evaluation, 0, mib), 2);
  CHECK(phases.take_epoch().size() == 3);
  CHECK(phases.take_epoch().empty());
}

TEST_CASE("on a GPU the row has what its allocator keeps, too") {
  const Told told = tell(1, 0, app::LogLevel::info, true);
  CHECK(cell(told.table, 0, "training_reserved_bytes") == std::to_string(1536 * mib));
  CHECK(cell(told.table, 0, "training_reserved_peak_bytes") == std::to_string(1536 * mib));
  CHECK(cell(told.table, 0, "training_inactive_split_bytes") == std::to_string(mib));
  CHECK(cell(told.table, 0, "training_alloc_retries") == "0");
}

TEST_CASE("what is of no epoch is a row of metrics.jsonl with its stage") {
  const Told told = tell(1, 0);
  CHECK(count(told.rows, "{\"member\":0,\"stage\":\"warm\",\"phase\":\"test\",\"tensors_bytes\":" +
                             std::to_string(32 * mib) + ",") == 1);
  CHECK(count(told.rows, "\"phase\":\"end of stage\"") == 1);
}

TEST_CASE("memory that grows is advised of once on the terminal, in the log and in advice.jsonl") {
  const std::string warning = "tensors are kept from epoch to epoch";
  const Told told = tell(7, 64 * mib);
  CHECK(count(told.shown, "Z warning " + warning) == 1);
  CHECK(count(told.shown, "warning · ") == 0);  // the level says it
  CHECK(count(told.log, warning) == 1);
  CHECK(count(told.advice, "{\"rule\":\"tensors-grow\",") == 1);
  CHECK(count(told.advice, "\"verdict\":\"" + warning) == 1);
  CHECK(count(tell(7, 0).log, warning) == 0);
}
