#pragma once

#include <headrace/loaders/volume/detail/case/case_statistics.h>
#include <headrace/loaders/volume/detail/case/value_mapping.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <algorithm>
#include <limits>

namespace headrace::inline v1::detail {

/// What a channel's values become.
struct ChannelMap {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double mean = 0;
  double deviation = 1;
  bool zeros_stay = false;  ///< of voxels that are 0 in all channels

  double operator()(double value) const noexcept {
    return (std::clamp(value, low, high) - mean) / deviation;
  }
};

/// A channel of which some voxels are 0 in all channels.
struct ChannelFigures {
  ValueFigures others{};
  double zeros = 0;  ///< their number
};

/// By nnU-Net's schemes; deviations are at least 1e-8, as there.
ChannelMap channel_map(const VolumeNormalization& normalization, const ChannelFigures& channel);

/// What the map gives.
struct MappedValues {
  NumberRange range{};  ///< from the lowest to the highest, as float32
  /// Mean distance from the mean of a slice: outliers count less in it than in the deviation.
  /// Infinite, not known, where values are cut, which leaves no outlier.
  double spread = std::numeric_limits<double>::infinity();
};
MappedValues mapped_values(const ChannelMap& map, const ChannelFigures& channel);

}  // namespace headrace::inline v1::detail
