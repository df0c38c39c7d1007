#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/schedules.h>

#include <limits>
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
  std::optional<double> best_loss = {};  ///< finite loss of that validation; none: it had none
  std::optional<double> reference = {};  ///< that patience goes by: what a better one beats
  int bad = 0;

  friend bool operator==(const EarlyStoppingState&, const EarlyStoppingState&) = default;
};

struct EarlyStoppingVerdict {
  EarlyStoppingState state = {};
  /// Better than all before, by however little, or as good with a smaller loss: keep the weights.
  bool improved = false;
  bool stop = false;
};

/// Whether the evaluations so far end the stage.
HEADRACE_API bool stops_early(const EarlyStoppingOptions& options, const EarlyStoppingState& state);

/// The state after one more evaluation, of that metric and loss. A metric that is NaN or
/// infinitely bad counts as one that did not get better. Of equal metrics the one with the smaller
/// finite loss is kept, else the first; patience looks at the metric alone. Throws `ConfigError`
/// for a negative patience or min_delta.
HEADRACE_API EarlyStoppingVerdict
early_stopping_after(const EarlyStoppingOptions& options, EarlyStoppingState state, double metric,
                     double loss = std::numeric_limits<double>::quiet_NaN());

}  // namespace headrace::inline v1::training
