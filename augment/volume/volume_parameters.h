#pragma once

#include <array>
#include <cstdint>

namespace headrace::inline v1 {

// What each operation on volumes has drawn, all of it: what it makes is a function of these numbers
// and of the voxels alone. In `channels` bit c says that channel c is changed.

/// Channels that an image of voxels may have.
inline constexpr int most_volume_channels = 32;

/// One number for each channel.
using PerVolumeChannel = std::array<float, most_volume_channels>;

/// Numbers for z, y and x, for each channel.
using PerVolumeAxis = std::array<std::array<float, 3>, most_volume_channels>;

/// Of VolumeNoise.
struct VolumeNoiseParameters {
  std::uint32_t channels = 0;
  float deviation = 0.0F;
  std::array<std::uint32_t, 2> key{};  ///< of Philox 4x32-10, whose counter is the voxel's place
};

/// Of VolumeBlur.
struct VolumeBlurParameters {
  std::uint32_t channels = 0;
  PerVolumeAxis deviations{};  ///< in voxels
};

/// Of VolumeBrightness.
struct VolumeBrightnessParameters {
  std::uint32_t channels = 0;
  PerVolumeChannel factor{};
};

/// Of VolumeContrast.
struct VolumeContrastParameters {
  std::uint32_t channels = 0;
  PerVolumeChannel factor{};   ///< of the distance to the mean
  bool preserve_range = true;  ///< clamped to least and most of before
};

/// Of VolumeLowResolution.
struct VolumeLowResolutionParameters {
  std::uint32_t channels = 0;
  PerVolumeAxis zoom{};  ///< of each side, which is then rounded, halves to even
};

/// Of VolumeGamma.
struct VolumeGammaParameters {
  std::uint32_t channels = 0;
  PerVolumeChannel exponent{};
  bool invert = false;  ///< on the negated values
  bool retain = true;   ///< mean and deviation are those of before
};

/// Of SliceJitter: each slice's way comes from the key and its number.
struct SliceJitterParameters {
  bool moves = false;
  int most = 0;  ///< largest way along an axis, in voxels
  std::array<std::uint32_t, 2> key{};
};

/// A box of voxels: its first corner and its sides along z, y and x.
struct VoxelBox {
  std::array<std::int64_t, 3> from{};
  std::array<std::int64_t, 3> size{};
};

/// Boxes that a cutout may have.
inline constexpr int most_cutouts = 16;

/// Of VolumeCutout: boxes that are filled in all channels.
struct VolumeCutoutParameters {
  int count = 0;
  std::array<VoxelBox, most_cutouts> boxes{};
  float fill = 0.0F;
};

/// Cells that the grid of a patch dropout may have.
inline constexpr std::int64_t most_dropout_cells = 4096;

/// Of PatchDropout: cells that are filled in all channels; cell (z, y, x) is bit
/// (z * cells[1] + y) * cells[2] + x of `dropped`.
struct PatchDropoutParameters {
  std::int64_t count = 0;               ///< of cells that are filled
  std::array<std::int64_t, 3> cell{};   ///< sides in voxels; the last of an axis may be smaller
  std::array<std::int64_t, 3> cells{};  ///< along each axis
  std::array<std::uint64_t, most_dropout_cells / 64> dropped{};
  float fill = 0.0F;
};

}  // namespace headrace::inline v1
