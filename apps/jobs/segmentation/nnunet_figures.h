#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// numpy.percentile() of at least one value, its default (linear), to the last bit.
double numpy_percentile(std::vector<double> values, double percent);

/// numpy.median() of at least one value.
double numpy_median(std::vector<double> values);

/// Values at three axes.
using PerAxis = std::array<double, 3>;

/// The product, from the first on.
double product_of(const std::vector<double>& values);

/// What `of` makes of each axis of at least one entry.
template <class Entry, class Of>
PerAxis each_axis(const std::vector<std::array<Entry, 3>>& entries, const Of& of) {
  PerAxis result{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<double> values;
    values.reserve(entries.size());
    for (const std::array<Entry, 3>& entry : entries)
      values.push_back(static_cast<double>(entry[axis]));
    result[axis] = of(std::move(values));
  }
  return result;
}

/// Of a network of nnU-Net's PlainConvUNet: the values of its feature maps for a patch, by
/// nnU-Net's compute_conv_feature_map_size(): two convolutions a stage.
double feature_map_values(const std::vector<std::int64_t>& patch,
                          const std::vector<std::vector<std::int64_t>>& strides,
                          const std::vector<std::int64_t>& features, std::int64_t labels);

}  // namespace headrace::inline v1::app
