#include <headrace/loaders/volume/detail/foreground/foreground_values.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// As many values as `most`, at equal steps of the shares.
std::vector<SharedValue> thinned(const std::vector<SharedValue>& values, std::size_t most) {
  std::vector<SharedValue> fewer;
  const double step = 1.0 / static_cast<double>(most);
  double passed = 0;
  for (const SharedValue& value : values) {
    passed += static_cast<double>(value.share);
    while (fewer.size() < most && (static_cast<double>(fewer.size()) + 0.5) * step <= passed)
      fewer.push_back({value.value, static_cast<float>(step)});
  }
  return fewer;
}

void sort_by_value(std::vector<SharedValue>& values) {
  std::ranges::sort(values, {}, &SharedValue::value);
}

/// The first value at which that share of all is passed.
double quantile(const std::vector<SharedValue>& sorted, double all, double share) {
  double passed = 0;
  for (const SharedValue& value : sorted) {
    passed += static_cast<double>(value.share);
    if (passed >= share * all) return static_cast<double>(value.value);
  }
  return static_cast<double>(sorted.back().value);
}

}  // namespace

ForegroundValues::ForegroundValues(std::size_t most, std::vector<float> table, std::uint64_t seed)
    : most_(most), table_(std::move(table)), counts_(table_.size()), random_(seed) {}

void ForegroundValues::count_in(float value) noexcept {
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = count_ == 0 ? value : std::max(max_, value);
  ++count_;
  const double distance = static_cast<double>(value) - mean_;
  mean_ += distance / static_cast<double>(count_);
  squares_ += distance * (static_cast<double>(value) - mean_);
}

void ForegroundValues::keep(float value) {
  ++offered_;
  if (kept_.size() < most_) {
    kept_.push_back(value);
  } else if (const std::uint64_t place = random_() % offered_; place < most_) {
    kept_[static_cast<std::size_t>(place)] = value;
  }
}

ForegroundFigures ForegroundValues::figures() {
  ForegroundFigures made{.count = count_, .mean = mean_, .min = min_, .max = max_};
  if (count_ == 0) return made;
  const auto all = static_cast<double>(count_);
  made.variance = squares_ / all;
  for (std::size_t code = 0; code < counts_.size(); ++code) {
    if (counts_[code] > 0)
      made.values.push_back(
          {table_[code], static_cast<float>(static_cast<double>(counts_[code]) / all)});
  }
  const double each = static_cast<double>(offered_) / all / static_cast<double>(kept_.size());
  for (const float value : std::exchange(kept_, {}))
    made.values.push_back({value, static_cast<float>(each)});
  if (made.values.size() > most_) {
    sort_by_value(made.values);
    made.values = thinned(made.values, most_);
  }
  made.values.shrink_to_fit();
  return made;
}

NnUNetForegroundValues intensity_of(std::span<ForegroundFigures*> cases) {
  NnUNetForegroundValues made{.min = INFINITY, .max = -INFINITY};
  const auto count = static_cast<double>(cases.size());
  std::vector<SharedValue> values;
  for (ForegroundFigures* one : cases) {
    made.mean += one->mean / count;
    made.min = std::min(made.min, static_cast<double>(one->min));
    made.max = std::max(made.max, static_cast<double>(one->max));
    values.insert(values.end(), one->values.begin(), one->values.end());
    one->values = {};
  }
  double variance = 0;
  for (const ForegroundFigures* one : cases) {
    const double distance = one->mean - made.mean;
    variance += (one->variance + distance * distance) / count;
  }
  made.std = std::sqrt(variance);
  sort_by_value(values);
  double all = 0;
  for (const SharedValue& value : values)
    all += static_cast<double>(value.share);
  made.percentile_00_5 = quantile(values, all, 0.005);
  made.median = quantile(values, all, 0.5);
  made.percentile_99_5 = quantile(values, all, 0.995);
  return made;
}

}  // namespace headrace::inline v1::detail
