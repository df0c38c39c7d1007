#include <headrace/engine/base/error.h>
#include <headrace/training/trainer/early_stopping.h>

#include <cmath>
#include <optional>
#include <string>

namespace headrace::inline v1::training {

bool stops_early(const EarlyStoppingOptions& options, const EarlyStoppingState& state) {
  const double sign = options.goal == Goal::maximum ? 1.0 : -1.0;
  if (options.enough && state.best && sign * (*state.best - *options.enough) >= 0.0) return true;
  return options.patience > 0 && state.bad >= options.patience;
}

EarlyStoppingVerdict early_stopping_after(const EarlyStoppingOptions& options,
                                          EarlyStoppingState state, double metric, double loss) {
  if (options.patience < 0 || !(options.min_delta >= 0.0))
    throw ConfigError("[early_stopping] patience and min_delta must not be negative, got " +
                      std::to_string(options.patience) + " and " +
                      std::to_string(options.min_delta));
  const double sign = options.goal == Goal::maximum ? 1.0 : -1.0;
  const auto beats = [&](const std::optional<double>& before, double by) {
    return before ? sign * (metric - *before) > by : can_be_best(options.goal, metric);
  };
  const std::optional<double> finite_loss =
      std::isfinite(loss) ? std::optional(loss) : std::nullopt;
  const bool smaller_loss = finite_loss && (!state.best_loss || *finite_loss < *state.best_loss);
  const bool improved = beats(state.best, 0.0) || (metric == state.best && smaller_loss);
  if (improved) {
    state.best = metric;
    state.best_loss = finite_loss;
  }
  if (beats(state.reference, options.min_delta)) {
    state.reference = metric;
    state.bad = 0;
  } else {
    ++state.bad;
  }
  return {.state = state, .improved = improved, .stop = stops_early(options, state)};
}

}  // namespace headrace::inline v1::training
