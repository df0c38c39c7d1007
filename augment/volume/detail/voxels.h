#pragma once

#include <headrace/augment/detail/picture.h>
#include <headrace/augment/volume/volume_parameters.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// An image of voxels, float32 [channels, depth, height, width].
struct Voxels {
  float* data = nullptr;
  std::int64_t channels = 0;
  std::int64_t depth = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;

  std::int64_t plane() const { return height * width; }
  /// Of one channel.
  std::int64_t count() const { return depth * plane(); }
  float* channel(std::int64_t c) const { return data + c * count(); }
};

/// The field as an image of voxels; throws ConfigError naming `who` where it is none.
const FieldSpec& voxel_field(const Schema& in, std::string_view field, const std::string& who);

/// The field's shape as `Voxels` without memory; throws DataError where it is no image of voxels.
Voxels voxel_shape(const Sample& sample, const std::string& field);

/// The field's memory for change in place (Sample::edit); throws DataError as voxel_shape() does.
Voxels edit_voxels(Sample& sample, const std::string& field);

/// A factor as nnU-Net draws it: with probability 1/2 uniform below 1, where the range reaches
/// there, else uniform in what the range has from 1 on.
double draw_about_one(const std::array<double, 2>& range, Random& random);

}  // namespace headrace::inline v1::detail
