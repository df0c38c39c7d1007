#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <string>

namespace headrace::inline v1 {

/// Fills boxes of an image float32 [channels, z, y, x], the same in all channels. Each side of each
/// box is uniform in `side`, no larger than the image; its place is uniform among those inside.
struct HEADRACE_API VolumeCutout {
  double p = 0.15;                     ///< probability of boxes at all
  int boxes = 3;                       ///< 1 to 16
  std::array<int, 2> side = {24, 64};  ///< least and most, in voxels
  float fill = 0.0F;                   ///< what they hold: the mean of images that are normalised
  std::string field = "image";

  std::string name() const { return "volume cutout"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of that size gets.
  VolumeCutoutParameters draw(const std::array<std::int64_t, 3>& sides, Random& random) const;
};

}  // namespace headrace::inline v1
