#pragma once

#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1 {

/// Makes channels of an image float32 [channels, z, y, x] smaller by nearest-exact choice and as
/// large as before by trilinear interpolation (batchgeneratorsv2's SimulateLowResolutionTransform
/// as nnU-Net sets it).
struct HEADRACE_API VolumeLowResolution {
  double p = 0.25;                          ///< probability of a change at all
  double channel_p = 0.5;                   ///< then, of a change of a channel
  std::array<double, 2> zoom = {0.5, 1.0};  ///< least and most, the same along all axes
  /// Keeps the slices apart: no zoom along z, as nnU-Net does for anisotropic patches.
  bool keep_depth = false;
  std::string field = "image";

  std::string name() const { return "volume low resolution"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no images of
  /// voxels.
  Schema schema(const Schema& in) const;
  std::size_t working_bytes(const Schema& in) const;
  /// Draws, then applies. Throws DataError for what is no image of voxels.
  void operator()(Sample& sample, Random& random) const;
  /// What a sample of so many channels gets.
  VolumeLowResolutionParameters draw(std::int64_t channels, Random& random) const;
};

}  // namespace headrace::inline v1
