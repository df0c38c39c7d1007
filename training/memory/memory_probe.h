#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/plan/options.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/training/memory/memory_report.h>
#include <headrace/training/recipe.h>
#include <headrace/training/stage/stage.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace headrace::inline v1::training {

/// What a stage has taken with batches of some size. Bytes.
struct ProbePoint {
  std::int64_t rows = 0;             ///< of a micro-batch
  std::int64_t evaluation_rows = 0;  ///< of a batch of the evaluation
  /// The most in tensors of the compute device at once, all of the stage's own in it: while it
  /// learns, and in an evaluation (0: it has none).
  std::uint64_t training = 0;
  std::uint64_t evaluation = 0;
  /// The most that was held beside tensors: of a CPU by libraries and the allocator's heap, of a
  /// GPU by its caching allocator.
  std::uint64_t beside = 0;
  /// What the figures keep in tensors of each row of an evaluation, to its end.
  std::uint64_t kept_of_row = 0;
  /// Of a micro-batch, with its share of the optimiser's step: the shortest; of a GPU the mean
  /// behind the first step.
  double step_s = 0.0;
  std::int64_t steps = 0;  ///< of the optimiser that were taken
};

/// What a process holds on the host that is no tensor of the CPU. Bytes.
struct HeldBesideTensors {
  std::uint64_t resident = 0;  ///< touched
  std::uint64_t data = 0;      ///< as RLIMIT_DATA counts it, without stacks
};
/// At this moment. Some microseconds.
HEADRACE_API HeldBesideTensors held_beside_tensors();

struct ProbeOptions {
  at::Device device = at::kCPU;
  Device deliver_to = {};      ///< the same, as the loader knows it
  LoaderOptions loaders = {};  ///< of the probe's own, which hold little
  std::uint64_t seed = 0;
  std::int64_t steps =
      3;  ///< of the optimiser: moments come with the first, the peak with the second
  /// What the process held before the first stage's probe: libraries and heap that a stage before
  /// has left count with this one, too. Not set: what it holds now.
  std::optional<HeldBesideTensors> before = {};
};

/// The split whose evaluations a stage takes memory for: the validation; without one the test,
/// which follows the last stage.
HEADRACE_API std::optional<Split> evaluated_split(const Course& course);

/// Takes real steps of a stage, with placeholders for data: optimiser steps of two
/// micro-batches at most, again behind each change of what is trained, and an evaluation each; with
/// its network, loss, precision, averages and checkpointed blocks. For a process that does nothing
/// else: a step that runs out of memory throws c10::OutOfMemoryError or what the device throws.
/// Needs count_tensor_memory() for a CPU. Not thread-safe.
class HEADRACE_API StageProbe {
 public:
  /// All outlives the probe. Makes the stage's network.
  StageProbe(const Course& course, const Stage& stage, ProbeOptions options);
  ~StageProbe();

  /// Throws what a training throws; ConfigError where a batch of so many rows cannot be.
  ProbePoint measure(std::int64_t rows, std::int64_t evaluation_rows);
  /// After the first `measure`.
  const StateBytes& state() const { return state_; }
  /// Of a micro-batch: norms over the batch need two.
  std::int64_t least_rows() const;

 private:
  StateBytes state_ = {};
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace headrace::inline v1::training
