#pragma once

#include <headrace/augment/volume/detail/voxel_pass.h>
#include <headrace/augment/volume/detail/voxels.h>

#include <array>
#include <cstdint>
#include <string>

namespace headrace::inline v1::detail {

// What each intensity operation has drawn, all of it: what follows is a function of these numbers
// and of the voxels alone. In `channels` bit c says that channel c is changed.

/// Deviations or zooms along z, y and x, for each channel.
using PerAxis = std::array<std::array<float, 3>, most_volume_channels>;

struct NoiseParameters {
  std::uint32_t channels = 0;
  float deviation = 0.0F;
  std::array<std::uint32_t, 2> key{};  ///< see voxel_normal()
};

struct BlurParameters {
  std::uint32_t channels = 0;
  PerAxis deviations{};  ///< in voxels, see blur_axis()
};

struct BrightnessParameters {
  std::uint32_t channels = 0;
  PerChannel factor{};
};

struct ContrastParameters {
  std::uint32_t channels = 0;
  PerChannel factor{};         ///< of the distance to the mean
  bool preserve_range = true;  ///< clamped to least and most of before
};

struct LowResolutionParameters {
  std::uint32_t channels = 0;
  PerAxis zoom{};  ///< see zoomed_size()
};

struct GammaParameters {
  std::uint32_t channels = 0;
  PerChannel exponent{};
  bool invert = false;  ///< on the negated values
  bool retain = true;   ///< mean and deviation are those of before
};

// Each does its part on one channel, whose values and earlier steps are the chain's.
void apply(const NoiseParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const BlurParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const BrightnessParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const ContrastParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const LowResolutionParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const GammaParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);

inline bool has_channel(std::uint32_t channels, std::int64_t channel) {
  return (channels >> channel & 1U) != 0;
}

/// Each of `channels` with probability p.
std::uint32_t draw_channels(std::int64_t channels, double p, Random& random);

/// One operation on all of its channels, in place; a sample of which nothing is changed is not
/// copied either.
template <class Parameters>
void apply_to_field(const Parameters& drawn, const std::string& field, Sample& sample) {
  if (drawn.channels == 0) return;
  const Voxels voxels = edit_voxels(sample, field);
  for (std::int64_t c = 0; c < voxels.channels; ++c) {
    if (!has_channel(drawn.channels, c)) continue;
    VoxelChain chain(voxels.channel(c), voxels.count());
    apply(drawn, voxels, c, chain);
    chain.flush();
  }
}

}  // namespace headrace::inline v1::detail
