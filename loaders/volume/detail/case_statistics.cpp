#include <headrace/loaders/volume/detail/case_statistics.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1::detail {

ValueFigures ValueFigures::of(std::span<const float> values) noexcept {
  ValueFigures figures;
  if (values.empty()) return figures;
  double sum = 0;
  for (const float value : values) {
    sum += value;
    figures.low = std::min<double>(figures.low, value);
    figures.high = std::max<double>(figures.high, value);
  }
  figures.count = static_cast<double>(values.size());
  figures.mean = sum / figures.count;
  for (const float value : values) {
    const double distance = value - figures.mean;
    figures.squares += distance * distance;
  }
  return figures;
}

ValueFigures ValueFigures::of_zeros(double count) noexcept {
  return count > 0 ? ValueFigures{.count = count, .low = 0, .high = 0} : ValueFigures{};
}

void ValueFigures::add(const ValueFigures& other) noexcept {
  if (other.count == 0) return;
  const double all = count + other.count;
  const double apart = other.mean - mean;
  squares += other.squares + apart * apart * count * other.count / all;
  mean += apart * other.count / all;
  count = all;
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}

std::optional<CaseStatistics> case_statistics(const CaseFiles& files, std::size_t cache_bytes,
                                              const LabelValues& labels,
                                              const std::stop_token& stop) {
  CaseStatistics made{.channels = std::vector<ValueFigures>(files.channels())};
  CaseSlices slices(files, cache_bytes, labels);
  std::vector<std::size_t> inside;
  std::vector<float> values;
  for (std::int64_t z = 0; z < files.info().shape[1]; ++z) {
    if (stop.stop_requested()) return {};
    slices.read(z);
    inside.clear();
    std::size_t voxel = 0;
    for (std::int64_t y = 0; y < slices.rows(); ++y)
      for (std::int64_t x = 0; x < slices.columns(); ++x, ++voxel) {
        if (slices.zero(voxel)) continue;
        made.box.add(z, y, x);
        inside.push_back(voxel);
      }
    for (std::size_t channel = 0; channel < files.channels(); ++channel) {
      values.clear();
      for (const std::size_t at : inside)
        values.push_back(slices.values(channel)[at]);
      made.channels[channel].add(ValueFigures::of(values));
    }
  }
  return made;
}

}  // namespace headrace::inline v1::detail
