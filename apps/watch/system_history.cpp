#include <headrace/apps/watch/system_history.h>
#include <headrace/monitor/system/usage_statistics.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::inline v1::app {

std::string_view SystemHistory::unit() const {
  if (unit_s_ < 60.0) return "seconds";
  return unit_s_ < 3600.0 ? "minutes" : "hours";
}

std::size_t SystemHistory::places() const {
  constexpr double least = 0.1;
  const bool too_short =
      places_.size() > 1 &&
      places_.back()[static_cast<std::size_t>(Curve::machine)].weight < least * unit_s_;
  return places_.size() - (too_short ? 1 : 0);
}

// Sixty places become one.
void SystemHistory::widen() {
  constexpr std::size_t factor = 60;
  std::vector<Place> wider((places_.size() + factor - 1) / factor);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    for (std::size_t curve = 0; curve < curves; ++curve) {
      wider[i / factor][curve].sum += places_[i][curve].sum;
      wider[i / factor][curve].weight += places_[i][curve].weight;
    }
  }
  places_ = std::move(wider);
  unit_s_ *= static_cast<double>(factor);
}

// A sample speaks for all of its interval, which may lie in several places.
void SystemHistory::put(const monitor::SystemSample& sample, Curve curve, double value) {
  const double end_s = std::max(sample.at_s, 0.0);
  const double start_s = std::max(end_s - sample.interval_s, 0.0);
  const auto last = static_cast<std::size_t>(end_s / unit_s_);
  if (places_.size() <= last) places_.resize(last + 1);
  for (auto place = static_cast<std::size_t>(start_s / unit_s_); place <= last; ++place) {
    const double from = std::max(start_s, static_cast<double>(place) * unit_s_);
    const double to = std::min(end_s, static_cast<double>(place + 1) * unit_s_);
    Mean& mean = places_[place][static_cast<std::size_t>(curve)];
    mean.sum += value * std::max(to - from, 0.0);
    mean.weight += std::max(to - from, 0.0);
  }
}

void SystemHistory::add(const monitor::SystemSample& sample) {
  while (unit_s_ < 3600.0 && sample.at_s / unit_s_ >= static_cast<double>(most_places))
    widen();
  put(sample, Curve::machine, sample.machine_share);
  if (sample.tree.processes > 0)
    put(sample, Curve::tree, sample.tree.cores / std::max(1U, sample.cores));
  if (const auto share = monitor::memory_share(sample)) put(sample, Curve::memory, *share);
  if (const auto busy = monitor::gpu_busy_share(sample)) put(sample, Curve::gpu_busy, *busy);
  if (const auto share = monitor::gpu_memory_share(sample)) put(sample, Curve::gpu_memory, *share);
}

std::vector<double> SystemHistory::values(Curve curve) const {
  std::vector<double> values;
  values.reserve(places_.size());
  for (std::size_t i = 0; i < places(); ++i) {
    const Mean& mean = places_[i][static_cast<std::size_t>(curve)];
    values.push_back(mean.weight > 0.0 ? mean.sum / mean.weight
                                       : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

bool SystemHistory::has(Curve curve) const {
  return std::ranges::any_of(places_, [&](const Place& place) {
    return place[static_cast<std::size_t>(curve)].weight > 0.0;
  });
}

}  // namespace headrace::inline v1::app
