// What is told of the memory that phases of a run took.
#include <headrace/apps/memory/memory_phases.h>
#include <headrace/apps/run/csv_table.h>
#include <headrace/apps/run/run_folder.h>
#include <headrace/apps/view/run_view.h>
#include <headrace/engine/base/literals.h>
#include <headrace/engine/plan/pipeline.h>
#include <headrace/loaders/synthetic/synthetic.h>
#include <headrace/tests/apps/pseudo_terminal.h>
#include <headrace/tests/apps/text_checks.h>
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
using test::count_of;

namespace {

PhaseFacts phase(RunPhase of, std::int64_t epoch, std::uint64_t tensors, bool on_gpu = false) {
  return {.phase = of,
          .epoch = epoch,
          .memory = {.allocated = tensors,
                     .peak = 2 * tensors,
                     .reserved = 3 * tensors,
                     .peak_reserved = 3 * tensors,
                     .inactive_split = 1_MiB,
                     .on_gpu = on_gpu,
                     .process = {.anonymous = 4_GiB + tensors}},
          .limits = {.process = 64_GiB, .gpu = 16_GiB}};
}

struct ToldPhases {
  std::string shown;
  std::string log;
  std::string advice;
  std::string rows;
  app::CsvTable table;
};

// A stage of so many epochs with an evaluation each, whose tensors grow by so much an epoch.
ToldPhases tell_phases(std::int64_t epochs, std::uint64_t growth,
                       app::LogLevel level = app::LogLevel::info, bool on_gpu = false) {
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
      const std::uint64_t tensors = 512_MiB + static_cast<std::uint64_t>(epoch) * growth;
      view.on_step({.epoch = epoch, .step = epoch + 1, .samples = 4, .epoch_samples = 4});
      view.on_train_epoch_end();
      view.on_phase(phase(RunPhase::training, epoch, tensors, on_gpu));
      view.on_phase(phase(RunPhase::evaluation, epoch, 64_MiB, on_gpu));
      view.on_epoch({.epoch = epoch, .step = epoch + 1, .train = {{"loss", 0.5}}, .steps = 1},
                    memory);
    }
    view.end_fold();
    view.on_phase(phase(RunPhase::end_of_stage, 0, 128_MiB, on_gpu));
    view.on_phase(phase(RunPhase::test, 0, 32_MiB, on_gpu));
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
  const ToldPhases told = tell_phases(2, 0);
  const ToldPhases verbose = tell_phases(2, 0, app::LogLevel::debug);
  for (const std::string& line : {training, evaluation, end, test}) {
    CAPTURE(line);
    CHECK(count_of(told.log, line) == 1);
    CHECK(count_of(told.shown, line) == 0);
    CHECK(count_of(verbose.log, line) == 1);
    CHECK(count_of(verbose.shown, line) == 1);
  }
  CHECK(count_of(told.log, "memory of ") == 6);
}

TEST_CASE("an epoch's row has its training and its evaluation") {
  const ToldPhases told = tell_phases(3, 1_MiB);
  REQUIRE(told.table.rows.size() == 3);
  CHECK(cell(told.table, 2, "training_tensors_bytes") == std::to_string(514_MiB));
  CHECK(cell(told.table, 2, "training_tensors_peak_bytes") == std::to_string(1028_MiB));
  CHECK(cell(told.table, 2, "training_process_bytes") == std::to_string(4_GiB + 514_MiB));
  CHECK(cell(told.table, 2, "evaluation_tensors_peak_bytes") == std::to_string(128_MiB));
  CHECK(count_of(told.rows, "\"training_tensors_bytes\":" + std::to_string(514_MiB)) == 1);
  CHECK(std::ranges::find(told.table.columns, "training_reserved_bytes") ==
        told.table.columns.end());
}

TEST_CASE("what was of an epoch is not of the next") {
  app::MemoryPhases phases;
  phases.add(phase(RunPhase::evaluation, 0, 1_MiB), 2);
  CHECK(phases.take_epoch().size() == 3);
  CHECK(phases.take_epoch().empty());
}

TEST_CASE("on a GPU the row has what its allocator keeps, too") {
  const ToldPhases told = tell_phases(1, 0, app::LogLevel::info, true);
  CHECK(cell(told.table, 0, "training_reserved_bytes") == std::to_string(1536_MiB));
  CHECK(cell(told.table, 0, "training_reserved_peak_bytes") == std::to_string(1536_MiB));
  CHECK(cell(told.table, 0, "training_inactive_split_bytes") == std::to_string(1_MiB));
  CHECK(cell(told.table, 0, "training_alloc_retries") == "0");
}

TEST_CASE("what is of no epoch is a row of metrics.jsonl with its stage") {
  const ToldPhases told = tell_phases(1, 0);
  CHECK(
      count_of(told.rows, "{\"member\":0,\"stage\":\"warm\",\"phase\":\"test\",\"tensors_bytes\":" +
                              std::to_string(32_MiB) + ",") == 1);
  CHECK(count_of(told.rows, "\"phase\":\"end of stage\"") == 1);
}

TEST_CASE("memory that grows is advised of once on the terminal, in the log and in advice.jsonl") {
  const std::string warning = "tensors are kept from epoch to epoch";
  const ToldPhases told = tell_phases(7, 64_MiB);
  CHECK(count_of(told.shown, "Z warning " + warning) == 1);
  CHECK(count_of(told.shown, "warning · ") == 0);  // the level says it
  CHECK(count_of(told.log, warning) == 1);
  CHECK(count_of(told.advice, "{\"rule\":\"tensors-grow\",") == 1);
  CHECK(count_of(told.advice, "\"verdict\":\"" + warning) == 1);
  CHECK(count_of(tell_phases(7, 0).log, warning) == 0);
}
