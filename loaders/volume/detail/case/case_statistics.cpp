#include <headrace/loaders/volume/detail/case/case_statistics.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1::detail {
namespace {

/// Calls `look(channel, value)` for all voxels of the slice that are not 0 in some channel.
template <class Look>
void for_values(const CaseSlices& slices, const Look& look) {
  const auto voxels = static_cast<std::size_t>(slices.rows() * slices.columns());
  for (std::size_t voxel = 0; voxel < voxels; ++voxel) {
    if (slices.zero(voxel)) continue;
    for (std::size_t channel = 0; channel < slices.channels(); ++channel)
      look(channel, static_cast<double>(slices.values(channel)[voxel]));
  }
}

/// Of each channel of the slice. It is looked at twice: nothing of it is kept beside it.
std::vector<ValueFigures> figures_of(const CaseSlices& slices) {
  std::vector<ValueFigures> figures(slices.channels());
  for_values(slices, [&](std::size_t channel, double value) {
    ValueFigures& of = figures[channel];
    of.count += 1;
    of.mean += value;  // the sum, first
    of.low = std::min(of.low, value);
    of.high = std::max(of.high, value);
  });
  for (ValueFigures& of : figures)
    if (of.count > 0) of.mean /= of.count;
  for_values(slices, [&](std::size_t channel, double value) {
    const double distance = value - figures[channel].mean;
    figures[channel].squares += distance * distance;
    figures[channel].distances += std::abs(distance);
  });
  return figures;
}

void add_to(GrowingBox& box, const CaseSlices& slices, std::int64_t z) {
  std::size_t voxel = 0;
  for (std::int64_t y = 0; y < slices.rows(); ++y)
    for (std::int64_t x = 0; x < slices.columns(); ++x, ++voxel)
      if (!slices.zero(voxel)) box.add(z, y, x);
}

}  // namespace

ValueFigures ValueFigures::of_zeros(double count) noexcept {
  return count > 0 ? ValueFigures{.count = count, .low = 0, .high = 0} : ValueFigures{};
}

void ValueFigures::add(const ValueFigures& other) noexcept {
  if (other.count == 0) return;
  const double all = count + other.count;
  const double apart = other.mean - mean;
  squares += other.squares + apart * apart * count * other.count / all;
  distances += other.distances;
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
  for (std::int64_t z = 0; z < files.info().shape[1]; ++z) {
    if (stop.stop_requested()) return {};
    slices.read(z);
    add_to(made.box, slices, z);
    const std::vector<ValueFigures> figures = figures_of(slices);
    for (std::size_t channel = 0; channel < files.channels(); ++channel)
      made.channels[channel].add(figures[channel]);
  }
  return made;
}

}  // namespace headrace::inline v1::detail
