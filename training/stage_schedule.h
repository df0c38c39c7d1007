#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/schedules.h>

#include <cstdint>
#include <functional>
#include <variant>

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
};

/// Down to zero over the stage; see `polynomial`.
struct PolynomialRate {
  double power = 0.9;
};

/// How the learning rate goes over a stage; a plateau looks at a figure of the
/// validation.
using Schedule =
    std::variant<ConstantRate, CosineRate, OneCycleRate, PolynomialRate, PlateauOptions>;

/// The name that configurations give it: "constant", "cosine", "one-cycle", "polynomial",
/// "plateau".
HEADRACE_API const char* name_of(const Schedule& schedule);

/// The rate of each update of a stage of so many steps, counted from 0; empty for a constant rate
/// and a plateau. Throws `ConfigError` for a warm-up longer than the stage.
HEADRACE_API std::function<double(std::int64_t update)> rate_of(const Schedule& schedule,
                                                                double learning_rate,
                                                                std::int64_t steps_per_epoch,
                                                                std::int64_t epochs);

}  // namespace headrace::inline v1::training
