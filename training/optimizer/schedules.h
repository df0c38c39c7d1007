#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::inline v1::training {

/// Which way a metric gets better.
enum class Goal : unsigned char { minimum, maximum };

/// Linear warm-up, then half a cosine. A pure function of the step: to resume is to know the step.
struct WarmupCosineOptions {
  double base = 1e-3;         ///< rate at the end of the warm-up
  double lowest = 0.0;        ///< rate at step `total`, one behind the last
  std::int64_t warmup = 0;    ///< steps from base * warmup_start to base
  double warmup_start = 0.1;  ///< factor of base at step 0
  std::int64_t total = 0;     ///< steps in all, the warm-up among them
};

/// The rate of a step in [0, total]; behind it the lowest. Throws `ConfigError` if the warm-up is
/// longer than `total`.
HEADRACE_API double warmup_cosine(const WarmupCosineOptions& options, std::int64_t step);

/// One cycle in two cosine phases: from max / div up to max at step pct * total - 1, then down to
/// max / div / final_div at step total - 1 (Smith, Topin, "Super-Convergence", 2018). One value per
/// parameter group: each has its own max.
struct OneCycleOptions {
  double max = 1e-3;
  std::int64_t total = 0;
  double pct = 0.3;  ///< share of the steps that goes up
  double div = 25.0;
  double final_div = 1e4;
};

/// The rate of a step in [0, total). Throws `ConfigError` for a step outside.
HEADRACE_API double one_cycle(const OneCycleOptions& options, std::int64_t step);

/// The momentum of that cycle, `low` where the rate is highest and `high` at both ends.
HEADRACE_API double one_cycle_momentum(const OneCycleOptions& options, double low, double high,
                                       std::int64_t step);

/// base * (1 - step / total)^power for a step in [0, total]. Throws `ConfigError` outside.
HEADRACE_API double polynomial(double base, std::int64_t total, std::int64_t step,
                               double power = 0.9);

/// Lowers the rate when a metric stops getting better.
struct PlateauOptions {
  std::string figure = "loss";  ///< of the validation
  Goal goal = Goal::minimum;
  double factor = 0.1;  ///< of the rate at each reduction, in (0, 1)
  int patience = 10;    ///< evaluations without a better metric that are let pass
  /// Relative: better is below best * (1 - threshold), or above best * (1 + threshold).
  double threshold = 1e-4;
  int cooldown = 0;     ///< evaluations after a reduction that do not count
  double lowest = 0.0;  ///< the rate is not taken below
};

/// All that the plateau schedule remembers; goes into checkpoints.
struct PlateauState {
  std::optional<double> best = {};
  int bad = 0;
  int cooldown = 0;
  int reductions = 0;  ///< so far

  friend bool operator==(const PlateauState&, const PlateauState&) = default;
};

/// Whether a metric can be the best so far: one that is NaN or infinitely bad cannot.
HEADRACE_API bool can_be_best(Goal goal, double metric);

/// The state after one more evaluation. A metric that cannot be the best is no better. Throws
/// `ConfigError` for a factor outside (0, 1) or a negative patience.
HEADRACE_API PlateauState plateau_after(const PlateauOptions& options, PlateauState state,
                                        double metric);

/// What is left of a rate after so many reductions.
HEADRACE_API double plateau_rate(const PlateauOptions& options, double rate, int reductions);

}  // namespace headrace::inline v1::training
