#pragma once

#include <headrace/monitor/memory/memory_line.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// What is to be measured of a configuration.
struct MeasureOptions {
  std::string stage{};               ///< only this one; empty: all
  std::vector<std::int64_t> rows{};  ///< batch sizes; empty: rows_to_measure() of each stage
  /// Bytes that tensors and what is held beside them must fit: larger batches are not tried. 0: no
  /// limit.
  std::uint64_t limit = 0;
  std::int64_t steps = 3;  ///< of the optimiser at each size
};

/// What steps of one batch size took; see training::ProbePoint. Bytes.
struct MeasuredPoint {
  std::int64_t rows = 0;
  std::int64_t evaluation_rows = 0;
  std::uint64_t training = 0;
  std::uint64_t evaluation = 0;
  std::uint64_t beside = 0;
  std::uint64_t kept_of_row = 0;
  double step_s = 0.0;
  std::int64_t steps = 0;  ///< that were taken
};

/// What a stage takes, as steps on placeholders have shown. Bytes.
struct MeasuredStage {
  std::string name{};
  std::uint64_t weights = 0;
  std::uint64_t gradients = 0;
  std::uint64_t moments = 0;
  std::uint64_t average = 0;     ///< averaged weights
  std::uint64_t checkpoint = 0;  ///< the copy of the state that a save is made of
  std::vector<MeasuredPoint> points{};
  std::int64_t evaluated = 0;      ///< rows of the largest evaluation
  std::int64_t exceeded_rows = 0;  ///< the least rows that ran out of memory; 0: none did
  std::int64_t least_rows = 1;     ///< of a micro-batch: norms over the batch need two
  std::string ended{};             ///< what ended the trial of that or another size; may be empty

  std::uint64_t state() const { return weights + gradients + moments + average; }
  /// Tensors of a step and of an evaluation (0 without one). Throw ConfigError without points.
  monitor::MemoryLine training() const;
  monitor::MemoryLine evaluation() const;
  /// What the figures of the largest evaluation keep of its rows.
  std::uint64_t kept() const;
  /// Tensors of a stage with batches of so many rows, 0 of them without an evaluation: of a step or
  /// an evaluation with its end, whichever is more. Of one that was not measured its state.
  std::uint64_t tensors(std::int64_t rows, std::int64_t evaluation_rows) const;
  /// What is held beside tensors with the largest batch, which is tried first: free memory of other
  /// sizes is what the heap keeps, and no function of rows.
  std::uint64_t beside() const;
};

/// Of all stages of a member, in their order.
struct MeasuredMemory {
  std::vector<MeasuredStage> stages{};
  std::string failed{};            ///< why there are none
  bool without_resources = false;  ///< it was memory, threads or the like that were missing
  std::string of{};                ///< job, program and machine, for a file that is kept
};

/// As JSON, for another process.
std::string to_json(const MeasuredMemory& memory);
/// Throws ConfigError for text that is none.
MeasuredMemory parse_measured_memory(std::string_view text);

/// Batch sizes to be tried for a batch of so many rows: itself first, so that the memory is as in
/// its training, then a half and a quarter, or where it is small the next larger ones.
std::vector<std::int64_t> rows_to_measure(std::int64_t batch);

}  // namespace headrace::inline v1::app
