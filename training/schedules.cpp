#include <headrace/engine/base/error.h>
#include <headrace/training/schedules.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace headrace::inline v1::training {

namespace {

double cosine(double start, double end, double share) {
  return end + (start - end) / 2.0 * (1.0 + std::cos(std::numbers::pi * share));
}

void check_step(const char* who, std::int64_t step, std::int64_t end) {
  if (step < 0 || step > end)
    throw ConfigError(std::string("[") + who + "] step must lie in [0, " + std::to_string(end) +
                      "], got " + std::to_string(step));
}

bool better(const PlateauOptions& options, double metric, double best) {
  const double margin = options.threshold * (options.goal == Goal::minimum ? -1.0 : 1.0);
  const double bar = best * (1.0 + margin);
  return options.goal == Goal::minimum ? metric < bar : metric > bar;
}

}  // namespace

double warmup_cosine(const WarmupCosineOptions& options, std::int64_t step) {
  if (options.warmup < 0 || options.warmup > options.total)
    throw ConfigError("[warmup_cosine] warmup must lie in [0, total = " +
                      std::to_string(options.total) + "], got " + std::to_string(options.warmup));
  if (step < options.warmup) {
    const double share = static_cast<double>(step) / static_cast<double>(options.warmup);
    return options.base * (options.warmup_start + (1.0 - options.warmup_start) * share);
  }
  const std::int64_t falling = options.total - options.warmup;
  if (falling == 0 || step >= options.total) return options.lowest;
  return cosine(options.base, options.lowest,
                static_cast<double>(step - options.warmup) / static_cast<double>(falling));
}

double one_cycle(const OneCycleOptions& options, std::int64_t step) {
  check_step("one_cycle", step, options.total - 1);
  const double first = options.max / options.div;
  const double top = options.pct * static_cast<double>(options.total) - 1.0;
  const double last = static_cast<double>(options.total) - 1.0;
  const auto now = static_cast<double>(step);
  if (now <= top) return cosine(first, options.max, top > 0.0 ? now / top : 1.0);
  return cosine(options.max, first / options.final_div, (now - top) / (last - top));
}

double polynomial(double base, std::int64_t total, std::int64_t step, double power) {
  check_step("polynomial", step, total);
  return base * std::pow(1.0 - static_cast<double>(step) / static_cast<double>(total), power);
}

PlateauState plateau_after(const PlateauOptions& options, PlateauState state, double metric) {
  if (!(options.factor > 0.0 && options.factor < 1.0) || options.patience < 0)
    throw ConfigError("[plateau] needs a factor in (0, 1) and a patience of at least 0, got " +
                      std::to_string(options.factor) + " and " + std::to_string(options.patience));
  const bool improved = state.best ? better(options, metric, *state.best) : !std::isnan(metric);
  if (improved) {
    state.best = metric;
    state.bad = 0;
  } else {
    ++state.bad;
  }
  if (state.cooldown > 0) {
    --state.cooldown;
    state.bad = 0;
  }
  if (state.bad > options.patience) {
    state.learning_rate = std::max(state.learning_rate * options.factor, options.lowest);
    state.cooldown = options.cooldown;
    state.bad = 0;
  }
  return state;
}

}  // namespace headrace::inline v1::training
