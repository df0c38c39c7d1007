#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/schedules.h>

#include <optional>

namespace headrace::inline v1::training {

struct EarlyStoppingOptions {
  Goal goal = Goal::maximum;
  int patience = 10;  ///< evaluations in a row without a better metric that end the stage; 0: never
  double min_delta = 0.0;             ///< patience wants a metric that is better by more than this
  std::optional<double> enough = {};  ///< a metric that good ends the stage; none: no metric does
};

/// What early stopping remembers; goes into checkpoints.
struct EarlyStoppingState {
  std::optional<double> best = {};       ///< whose weights are kept
  std::optional<double> reference = {};  ///< that patience goes by: what a better one beats
  int bad = 0;

  friend bool operator==(const EarlyStoppingState&, const EarlyStoppingState&) = default;
};

struct EarlyStoppingVerdict {
  EarlyStoppingState state = {};
  bool improved = false;  ///< better than all before, by however little: keep the weights
  bool stop = false;
};

/// Whether the evaluations so far end the stage.
HEADRACE_API bool stops_early(const EarlyStoppingOptions& options, const EarlyStoppingState& state);

/// The state after one more evaluation. A metric that is NaN or infinitely bad counts as one that
/// did not get better. Throws `ConfigError` for a negative patience or min_delta.
HEADRACE_API EarlyStoppingVerdict early_stopping_after(const EarlyStoppingOptions& options,
                                                       EarlyStoppingState state, double metric);

}  // namespace headrace::inline v1::training
