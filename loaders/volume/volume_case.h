#pragma once

#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/loaders/volume/volume_reader.h>
#include <headrace/loaders/volume/weight_map.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// One subject: volumes of the same extents along z, y, x.
struct VolumeCase {
  std::string name{};
  /// Its channels, in order: each with all of its own. Of one dtype, or read as float32.
  std::vector<std::shared_ptr<const CachedVolume>> images{};
  /// Labels, one channel; may be missing.
  std::shared_ptr<const CachedVolume> label{};
  /// Where its classes lie; needed where PatchSampling asks for them.
  std::shared_ptr<const ForegroundIndex> foreground{};
  /// Every patch lies around this voxel (z, y, x), for whoever compares them; none: where
  /// PatchSampling says.
  std::optional<std::array<std::int64_t, 3>> middle{};
  /// Where patches that are of no class have their middle; missing: anywhere, uniformly.
  std::shared_ptr<const WeightMap> weights{};
  /// What makes the network's input of values: (value - mean) / deviation, for each channel; empty:
  /// values as they are.
  std::vector<double> means{};
  std::vector<double> deviations{};
};

}  // namespace headrace::inline v1
