#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/detail/case/channel_map.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::detail {

/// A part of files of one channel and one shape, which are a volume's channels.
struct CropOf {
  std::vector<std::shared_ptr<const CachedVolume>> channels{};
  std::array<std::int64_t, 3> begin{};  ///< z, y, x in the files
  std::array<std::int64_t, 3> end{};
  std::array<std::int64_t, 3> block{};  ///< of the new volume, cut to its extents
  /// Spacing and affine of the files' grid.
  VolumeInfo grid{};
};

/// Its images as float32, each channel through its map (`maps` are as many as channels).
std::shared_ptr<const Volume> normalized_crop(CropOf crop, std::vector<ChannelMap> maps);

/// Its label, one channel of whole numbers that fit `dtype`: uint8 or int16.
std::shared_ptr<const Volume> label_crop(CropOf crop, DType dtype);

}  // namespace headrace::inline v1::detail
