#pragma once

#include <headrace/apps/config/units.h>
#include <headrace/apps/memory/measured_memory.h>
#include <headrace/monitor/memory/memory_forecast.h>
#include <headrace/monitor/memory/process_memory.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The limit of the host that a run has, with the one that its configuration may have.
monitor::MemoryLimit host_limit(const std::optional<Bytes>& configured);

/// Bytes of the host and of the compute device.
struct SplitBytes {
  std::uint64_t host = 0;
  std::uint64_t device = 0;  ///< 0 without a GPU
};

/// What a stage will hold at most, its data and loaders with it.
struct PlannedStage {
  std::string name{};
  std::int64_t batch = 0;             ///< rows of a micro-batch
  std::int64_t accumulation = 1;      ///< micro-batches of a step
  std::int64_t evaluation_batch = 0;  ///< 0: it has no evaluation
  monitor::MemoryForecast host{};
  monitor::MemoryForecast device{};  ///< empty without a GPU
  SplitBytes batch_bytes{};          ///< of both, what grows with the batch in the loader
  SplitBytes evaluation_bytes{};     ///< likewise of the evaluation's
  std::int64_t records = 0;          ///< to train on
  std::int64_t epochs = 0;           ///< at most
  MeasuredStage measured{};
};

/// Every stage of a run, and the limits that all of them must fit.
struct MemoryPlan {
  std::vector<PlannedStage> stages{};
  monitor::MemoryLimit host_limit{};
  std::optional<monitor::MemoryLimit> device_limit{};  ///< with a GPU
  bool stages_are_listed = false;  ///< in training.stages, where each has keys of its own
  std::string unmeasured{};        ///< why activations are not in it; empty: they are

  /// A column for each stage, a row for each part; of the host, and with a GPU of the device.
  std::string table() const;
  /// The same in a line, of the stage that takes the most.
  std::string line() const;
  /// The first stage that does not fit; null where all do.
  const PlannedStage* too_large() const;
  /// Throws ResourceError with the table and `way_out` if a stage does not fit.
  void require(const std::string& way_out) const;
  /// The stage that takes the most of the host.
  const PlannedStage& largest() const;
};

/// Of a stage as it is planned, its tensors and what is held beside them.
std::uint64_t bytes_of_tensors(const PlannedStage& stage);

/// Bytes that are left for tensors, and what is held beside them, by the stage that has the most of
/// everything else; at least 1.
std::uint64_t room_for_tensors(const MemoryPlan& plan);

/// Of a stage with batches of other sizes, as was measured of it or of a change of it.
SplitBytes total_with(const MemoryPlan& plan, const PlannedStage& stage,
                      const MeasuredStage& measured, std::int64_t rows,
                      std::int64_t evaluation_rows);

/// Whether that fits both limits.
bool fits(const MemoryPlan& plan, const SplitBytes& total);

/// Rows of a batch of the evaluation beside batches of other sizes: as many more or fewer.
std::int64_t evaluation_rows(const PlannedStage& stage, std::int64_t rows);

/// Rows of the smallest micro-batch that a stage's batch can be put together of: its least divisor
/// that the network takes, as was measured.
std::int64_t least_rows(const PlannedStage& stage);

/// Smaller micro-batches, more of them, or a smaller batch of the evaluation, with which a stage
/// would fit; zeros: as they are.
struct StageChange {
  std::int64_t batch = 0;
  std::int64_t accumulation = 0;
  std::int64_t evaluation_batch = 0;
  bool needed() const { return batch > 0 || evaluation_batch > 0; }
};

/// Whether a stage fits both limits as it is planned, and no such batch was seen to run out.
bool fits(const MemoryPlan& plan, const PlannedStage& stage);

/// The least change of a stage with which it fits; nothing where the least micro-batch does not, or
/// where it is not known what rows take. Not needed where it fits as it is.
std::optional<StageChange> change_to_fit(const MemoryPlan& plan, const PlannedStage& stage);
/// The least change of the evaluation's batch alone with which a stage fits, as a run that goes on
/// may change it.
std::optional<StageChange> evaluation_to_fit(const MemoryPlan& plan, const PlannedStage& stage);
/// The least change as it was measured with something else in its configuration.
std::optional<StageChange> change_to_fit(const MemoryPlan& plan, const PlannedStage& stage,
                                         const MeasuredStage& measured);

/// "training.batch=16, training.accumulation=4 (the same effective batch)"; of stages in a list
/// "batch=16, ... of stage warm-up".
std::string to_text(const MemoryPlan& plan, const PlannedStage& stage, const StageChange& change);

}  // namespace headrace::inline v1::app
