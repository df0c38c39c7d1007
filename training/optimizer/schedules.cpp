#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/schedules.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

// What a cycle goes through.
struct Phases {
  double first;
  double top;
  double last;
};

double two_phases(const OneCycleOptions& options, const Phases& phases, std::int64_t step) {
  check_step("one_cycle", step, options.total - 1);
  const double turn = options.pct * static_cast<double>(options.total) - 1.0;
  const double end = static_cast<double>(options.total) - 1.0;
  const auto now = static_cast<double>(step);
  if (now <= turn) return cosine(phases.first, phases.top, turn > 0.0 ? now / turn : 1.0);
  return cosine(phases.top, phases.last, (now - turn) / (end - turn));
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
  const double first = options.max / options.div;
  return two_phases(options,
                    {.first = first, .top = options.max, .last = first / options.final_div}, step);
}

double one_cycle_momentum(const OneCycleOptions& options, double low, double high,
                          std::int64_t step) {
  return two_phases(options, {.first = high, .top = low, .last = high}, step);
}

double polynomial(double base, std::int64_t total, std::int64_t step, double power) {
  check_step("polynomial", step, total);
  return base * std::pow(1.0 - static_cast<double>(step) / static_cast<double>(total), power);
}

bool can_be_best(Goal goal, double metric) {
  return (goal == Goal::maximum ? metric : -metric) > -std::numeric_limits<double>::infinity();
}

PlateauState plateau_after(const PlateauOptions& options, PlateauState state, double metric) {
  if (!(options.factor > 0.0 && options.factor < 1.0) || options.patience < 0)
    throw ConfigError("[plateau] needs a factor in (0, 1) and a patience of at least 0, got " +
                      std::to_string(options.factor) + " and " + std::to_string(options.patience));
  const bool improved =
      state.best ? better(options, metric, *state.best) : can_be_best(options.goal, metric);
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
    ++state.reductions;
    state.cooldown = options.cooldown;
    state.bad = 0;
  }
  return state;
}

double plateau_rate(const PlateauOptions& options, double rate, int reductions) {
  const double lowest = std::min(options.lowest, rate);
  for (int i = 0; i < reductions; ++i)
    rate = std::max(rate * options.factor, lowest);
  return rate;
}

}  // namespace headrace::inline v1::training
