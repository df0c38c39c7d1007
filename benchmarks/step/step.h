#pragma once

#include <headrace/benchmarks/step/feed.h>
#include <headrace/monitor/step_budget.h>

#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// Mean step of a run: seconds; its parts leave "other".
using Budget = monitor::StepTimes;

/// A consumer that uses no CPU for `step_s` a batch, as a trainer does that waits for its GPU. The
/// first `warm` batches do not count.
Budget paced_run(const Feed& feed, double step_s, int warm);

/// Trains ResNet-50 in bfloat16 on a device (the CPU too, for tests). On a GPU the parts are times
/// of its stream, from events: between two steps it idles for data while the host waits in the
/// feed, and for the copy otherwise.
class Trainer {
 public:
  explicit Trainer(c10::Device device);
  Budget run(const Feed& feed, int warm);
  /// Loss of the last step.
  double loss() const;
  /// `[["trunk.0.0.weight", [64, 3, 7, 7]], ...]` on standard output, for a twin to compare.
  static void print_layers();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Opens LibTorch's CUDA library where there is a GPU; why not, else empty.
std::string open_gpu();

}  // namespace headrace::inline v1::bench
