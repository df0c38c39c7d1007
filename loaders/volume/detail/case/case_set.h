#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/volume_case.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

using Cases = std::span<const VolumeCase>;

std::int64_t channels_of(const VolumeCase& of);

/// Throws ConfigError, which begins with `who`, unless there are cases, all of them have as many
/// channels, the volumes of each the same extents, and all have a label where `labelled`.
void check_cases(const std::string& who, Cases cases, bool labelled);
/// The same of the extents of patches, or boxes.
void check_patch(const std::string& who, const std::array<std::int64_t, 3>& patch);

/// uint8 where all labels are, and what lies beyond them is; else int16. Throws ConfigError for
/// what int16 does not hold.
DType label_dtype(const std::string& who, Cases cases, std::int64_t beyond);

/// A box of a case's labels, without gaps, as that dtype.
void read_label(const VolumeCase& of, const VolumeBox& box, DType dtype, std::int64_t beyond,
                std::byte* to);

/// What makes the network's input of a channel.
struct ChannelScale {
  const CachedVolume* volume = nullptr;
  std::int64_t channel = 0;  ///< in that volume
  double mean = 0.0;
  double deviation = 1.0;

  /// The network's input is voxel * scale() + offset(): of a stored voxel, or where `converted` of
  /// a value.
  float scale(bool converted) const noexcept;
  float offset(bool converted) const noexcept;
};

/// Of all channels of a case, in order.
std::vector<ChannelScale> channel_scales(const VolumeCase& of);

/// Memory that reading a block of any volume needs.
std::size_t decoding_bytes(Cases cases, bool labelled);
/// The caches of all volumes, full, and their indexes.
std::size_t resident_bytes(Cases cases);

}  // namespace headrace::inline v1::detail
