#include <headrace/monitor/memory/memory_trend.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace headrace::inline v1::monitor {
namespace {

constexpr double z_of_90_percent = 1.6449;
constexpr std::size_t most_figures = 64;
constexpr double share_that_matters = 0.01;
constexpr double bytes_that_matter = 16.0 * 1024 * 1024;
constexpr double share_that_goes_on = 0.5;
constexpr double share_that_is_sure = 0.5;

double slope_between(const EpochBytes& a, const EpochBytes& b) {
  return (static_cast<double>(b.bytes) - static_cast<double>(a.bytes)) /
         static_cast<double>(b.epoch - a.epoch);
}

// Sorted.
std::vector<double> slopes_of_pairs(std::span<const EpochBytes> figures) {
  std::vector<double> slopes;
  slopes.reserve(figures.size() * (figures.size() - 1) / 2);
  for (std::size_t i = 0; i < figures.size(); ++i)
    for (std::size_t j = i + 1; j < figures.size(); ++j)
      slopes.push_back(slope_between(figures[i], figures[j]));
  std::ranges::sort(slopes);
  return slopes;
}

// How many slopes lie below the interval, its lower end counted, and as many above; 0: it has none.
// The normal form, rounded, is that of the exact distribution from four figures on.
std::size_t slopes_outside(std::size_t figures) {
  const auto n = static_cast<double>(figures);
  const double pairs = n * (n - 1) / 2;
  const double spread = z_of_90_percent * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return static_cast<std::size_t>(std::max(std::round((pairs - spread) / 2), 0.0));
}

}  // namespace

MemorySlope theil_sen(std::span<const EpochBytes> figures) {
  const std::vector<double> slopes = slopes_of_pairs(figures);
  const std::size_t middle = slopes.size() / 2;
  const double median =
      slopes.size() % 2 == 1 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2;
  const std::size_t outside = slopes_outside(figures.size());
  if (outside == 0) {
    constexpr double none = std::numeric_limits<double>::infinity();
    return {.per_epoch = median, .low = -none, .high = none};
  }
  return {.per_epoch = median, .low = slopes[outside - 1], .high = slopes[slopes.size() - outside]};
}

void MemoryTrend::add(std::int64_t epoch, std::uint64_t bytes) {
  if (!first_seen_) first_epoch_ = epoch;
  first_seen_ = true;
  if (epoch <= first_epoch_) return;
  while (!figures_.empty() && figures_.back().epoch >= epoch)
    figures_.pop_back();
  if (figures_.size() == most_figures) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < figures_.size(); i += 2)
      figures_[kept++] = figures_[i];
    figures_.resize(kept);
  }
  figures_.push_back({.epoch = epoch, .bytes = bytes});
}

std::optional<MemoryGrowth> MemoryTrend::growth() const {
  if (figures_.size() < 2) return std::nullopt;
  const MemoryGrowth growth{
      .slope = theil_sen(figures_), .first = figures_.front(), .last = figures_.back()};
  const double newest = slope_between(figures_[figures_.size() - 2], growth.last);
  if (newest < share_that_goes_on * growth.slope.per_epoch) return std::nullopt;
  const double matters =
      std::max(bytes_that_matter, share_that_matters * static_cast<double>(growth.last.bytes));
  const double sure =
      growth.slope.low * static_cast<double>(growth.last.epoch - growth.first.epoch);
  if (growth.bytes() <= matters || sure <= share_that_is_sure * matters) return std::nullopt;
  return growth;
}

}  // namespace headrace::inline v1::monitor
