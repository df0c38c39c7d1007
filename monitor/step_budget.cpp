#include <headrace/monitor/step_budget.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

struct Unit {
  std::string_view name;
  double seconds;  // of one tick shown
  int decimals;
};

Unit unit_for(double step_s) {
  if (step_s >= 9.9995) return {"s", 0.1, 1};
  if (step_s >= 9.95e-3) return {"ms", 1e-3, 0};
  if (step_s >= 0.995e-3) return {"ms", 1e-4, 1};
  return {"us", 1e-6, 0};
}

// Largest remainder: the parts shown add up to the total shown.
std::array<long long, 4> share_out(long long total, const std::array<double, 4>& parts) {
  std::array<long long, 4> ticks{};
  std::array<std::size_t, 4> by_remainder{0, 1, 2, 3};
  std::array<double, 4> remainder{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ticks[i] = static_cast<long long>(std::floor(parts[i]));
    remainder[i] = parts[i] - std::floor(parts[i]);
  }
  std::stable_sort(by_remainder.begin(), by_remainder.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  long long missing = total - std::accumulate(ticks.begin(), ticks.end(), 0LL);
  for (std::size_t i = 0; i < ticks.size() && missing > 0; ++i, --missing)
    ++ticks[by_remainder[i]];
  return ticks;
}

std::string shown(long long ticks, const Unit& unit) {
  if (unit.decimals == 0) return fmt::format("{}", ticks);
  return fmt::format("{}.{}", ticks / 10, ticks % 10);
}

}  // namespace

double StepBudget::data_stall_fraction() const {
  return wall_s > 0 ? data_wait_s / wall_s : 0.0;
}

double StepBudget::sum_error() const {
  if (!(wall_s > 0)) return 0.0;
  return std::abs(data_wait_s + copy_s + compute_s + other_s - wall_s) / wall_s;
}

std::string StepBudget::sentence() const {
  if (steps == 0) return "no step measured yet";
  const double n = static_cast<double>(steps);
  const double total = data_wait_s + copy_s + compute_s + other_s;
  const Unit unit = unit_for(total / n);
  const double per_tick = n * unit.seconds;
  const long long total_ticks = std::llround(total / per_tick);
  const auto ticks = share_out(total_ticks, {data_wait_s / per_tick, copy_s / per_tick,
                                             compute_s / per_tick, other_s / per_tick});
  return fmt::format("step {} {} = data {} + copy {} + {} {} + other {}", shown(total_ticks, unit),
                     unit.name, shown(ticks[0], unit), shown(ticks[1], unit),
                     on_gpu ? "gpu" : "compute", shown(ticks[2], unit), shown(ticks[3], unit));
}

std::string StepBudget::window() const {
  if (skipped_steps == 0) return fmt::format("{} steps", steps);
  return fmt::format("{} steps after {} of warm-up{}", steps, skipped_steps,
                     warmup_cut_short ? " (short run: the first half)" : "");
}

StepBudgetMeter::StepBudgetMeter(StepBudgetOptions options) : options_(options) {}

void StepBudgetMeter::fold(Sums& sums, const StepTimes& step) const {
  ++sums.steps;
  sums.wall_s += step.wall_s;
  sums.data_wait_s += step.data_wait_s;
  sums.copy_s += step.copy_s;
  sums.compute_s += step.compute_s;
  sums.other_s += std::max(0.0, step.other_s());
  sums.waits.add(step.data_wait_s);
  if (step.data_wait_s > options_.long_wait_s) ++sums.long_waits;
}

// Once twice the warm-up's steps are there, "never more than half" can no longer shorten it.
bool StepBudgetMeter::settle() {
  if (!warmup_found_ || pending_.size() < 2 * warmup_end_) return false;
  for (std::size_t i = warmup_end_; i < pending_.size(); ++i)
    fold(sums_, pending_[i]);
  skipped_ = warmup_end_;
  pending_ = {};
  return true;
}

void StepBudgetMeter::add(const StepTimes& step) {
  if (settled_) {
    fold(sums_, step);
    return;
  }
  if (!warmup_found_ && pending_.size() >= options_.warmup_steps &&
      elapsed_s_ >= options_.warmup_s) {
    warmup_found_ = true;
    warmup_end_ = pending_.size();
  }
  pending_.push_back(step);
  elapsed_s_ += step.wall_s;
  settled_ = settle();
}

StepBudget StepBudgetMeter::summary() const {
  Sums sums = sums_;
  std::size_t skipped = skipped_;
  bool cut_short = false;
  if (!settled_) {
    const std::size_t half = pending_.size() / 2;
    skipped = warmup_found_ ? std::min(warmup_end_, half) : half;
    cut_short = !warmup_found_ || warmup_end_ > half;
    for (std::size_t i = skipped; i < pending_.size(); ++i)
      fold(sums, pending_[i]);
  }
  StepBudget budget{.steps = sums.steps,
                    .skipped_steps = skipped,
                    .warmup_cut_short = cut_short && skipped > 0,
                    .on_gpu = options_.on_gpu,
                    .wall_s = sums.wall_s,
                    .data_wait_s = sums.data_wait_s,
                    .copy_s = sums.copy_s,
                    .compute_s = sums.compute_s,
                    .other_s = sums.other_s,
                    .wait_p50_s = sums.waits.quantile(0.5),
                    .wait_p99_s = sums.waits.quantile(0.99),
                    .wait_max_s = sums.waits.max()};
  if (sums.steps > 0) {
    budget.long_wait_share = static_cast<double>(sums.long_waits) / static_cast<double>(sums.steps);
  }
  return budget;
}

void StepBudgetMeter::next_epoch() {
  if (!settled_) {
    options_.warmup_steps -= std::min(options_.warmup_steps, pending_.size());
    options_.warmup_s = std::max(0.0, options_.warmup_s - elapsed_s_);
  } else {
    options_.warmup_steps = 0;
    options_.warmup_s = 0.0;
  }
  sums_ = {};
  pending_.clear();
  warmup_end_ = 0;
  elapsed_s_ = 0.0;
  warmup_found_ = false;
  settled_ = false;
  skipped_ = 0;
}

}  // namespace headrace::inline v1::monitor
