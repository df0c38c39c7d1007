#pragma once

#include <headrace/loaders/volume/detail/case_statistics.h>
#include <headrace/loaders/volume/detail/value_mapping.h>
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

/// From the lowest to the highest value that the map gives, as float32.
NumberRange mapped_range(const ChannelMap& map, const ChannelFigures& channel);

}  // namespace headrace::inline v1::detail
