#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// What a file may claim before memory is taken for it.
struct VolumeLimits {
  std::int64_t extent = std::int64_t{1} << 24;        ///< along an axis
  std::int64_t voxels = std::int64_t{1} << 40;        ///< channels counted
  std::size_t block_bytes = std::size_t{1} << 30;     ///< of a decoded block
  std::int64_t blocks = std::int64_t{1} << 26;        ///< of the volume
  std::size_t metadata_bytes = std::size_t{1} << 24;  ///< of a header or a file of metadata
};

/// Throws DataError unless shape, block, spacing, affine, scale and offset can be a volume's and
/// keep to the limits. `name` is the volume's.
HEADRACE_API void check_volume(const VolumeInfo& info, const VolumeLimits& limits,
                               const std::string& name);

}  // namespace headrace::inline v1
