#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/schedules.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace headrace::inline v1::training {

/// The optimiser's rate throughout.
struct ConstantRate {};

/// Warm-up and half a cosine over the stage; see `warmup_cosine`.
struct CosineRate {
  std::int64_t warmup_epochs = 0;
  double lowest = 0.0;        ///< rate one step behind the last
  double warmup_start = 0.1;  ///< factor of the rate at step 0
};

/// One cycle over the stage, whose peak is the optimiser's rate; see `one_cycle`.
struct OneCycleRate {
  double pct = 0.3;
  double div = 25.0;
  double final_div = 1e4;
  /// The momentum (beta1 of Adam) goes the other way, from `high` down to `low` and back.
  bool cycle_momentum = false;
  double low_momentum = 0.85;
  double high_momentum = 0.95;
};

/// Down to zero over the stage; see `polynomial`.
struct PolynomialRate {
  double power = 0.9;
};

/// Times `factor` after every so many epochs, or at those that are listed.
struct StepRate {
  std::int64_t every = 30;
  std::vector<std::int64_t> at = {};  ///< epochs, rising; in place of `every`
  double factor = 0.1;
};

/// How the learning rate goes over a stage; a plateau looks at a figure of the
/// validation.
using Schedule =
    std::variant<ConstantRate, CosineRate, OneCycleRate, PolynomialRate, StepRate, PlateauOptions>;

/// The name that configurations give it: "constant", "cosine", "one-cycle", "polynomial", "step",
/// "plateau".
HEADRACE_API const char* name_of(const Schedule& schedule);

/// A place in a stage, as schedules see it.
struct SchedulePlace {
  std::int64_t update = 0;           ///< from 0; steps that were skipped are none
  std::int64_t steps_per_epoch = 1;  ///< of the stage
  std::int64_t epochs = 1;
  int reductions = 0;  ///< of a plateau, so far
};

/// The rate there of parameters whose own is `rate`: of each group by itself, so that a bound such
/// as `lowest` is that of all. Throws `ConfigError` for a warm-up longer than the stage.
HEADRACE_API double rate_at(const Schedule& schedule, double rate, const SchedulePlace& place);

/// The momentum there; none where the schedule leaves it as it is.
HEADRACE_API std::optional<double> momentum_at(const Schedule& schedule,
                                               const SchedulePlace& place);

}  // namespace headrace::inline v1::training
