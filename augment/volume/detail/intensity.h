#pragma once

#include <headrace/augment/volume/detail/voxel_pass.h>
#include <headrace/augment/volume/detail/voxels.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1::detail {

// Each does its part on one channel, whose values and earlier steps are the chain's.
void apply(const VolumeNoiseParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const VolumeBlurParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const VolumeBrightnessParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const VolumeContrastParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const VolumeLowResolutionParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);
void apply(const VolumeGammaParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain);

inline bool has_channel(std::uint32_t channels, std::int64_t channel) {
  return (channels >> channel & 1U) != 0;
}

/// Each of `channels` with probability p.
std::uint32_t draw_channels(std::int64_t channels, double p, Random& random);

/// The channels that an operation changes: none but with its p, then each with its channel_p; for
/// each of them `values` draws by what.
template <class Operation, class Draw>
std::uint32_t draw_changed(const Operation& operation, std::int64_t channels, Random& random,
                           const Draw& values) {
  if (!random.chance(operation.p)) return 0;
  const std::uint32_t drawn = draw_channels(channels, operation.channel_p, random);
  for (std::int64_t c = 0; c < channels; ++c)
    if (has_channel(drawn, c)) values(static_cast<std::size_t>(c));
  return drawn;
}

/// A range that operations draw from, and within which it must lie.
struct DrawnRange {
  std::array<double, 2> range;
  std::array<double, 2> limits;
  const char* name;
};

/// Throws ConfigError unless an operation's probabilities are some, its range lies within its
/// limits, and its field holds voxels.
template <class Operation>
void check_intensity(const Operation& operation, const Schema& in, const DrawnRange& drawn) {
  check_probability(operation.p, operation.name());
  check_probability(operation.channel_p, operation.name(), "channel_p");
  check_span(drawn.range, drawn.limits, operation.name(), drawn.name);
  voxel_field(in, operation.field, operation.name());
}

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
