#include <headrace/augment/volume/detail/voxels.h>
#include <headrace/engine/base/error.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

bool is_image(DType dtype, const Shape& shape) {
  return dtype == DType::float32 && shape.rank() == 4 && shape[0] >= 1 &&
         shape[0] <= most_volume_channels;
}

constexpr const char* voxels_rule =
    "\" must be float32 [channels, z, y, x] of 1 to 32 channels, got ";

}  // namespace

const FieldSpec& voxel_field(const Schema& in, std::string_view field, const std::string& who) {
  const FieldSpec& image = in.at(field, who);
  if (image.kind != FieldSpec::Kind::ragged && is_image(image.dtype, image.shape)) return image;
  throw ConfigError("[" + who + "] field \"" + std::string(field) + voxels_rule + to_string(image));
}

Voxels voxel_shape(const Sample& sample, const std::string& field) {
  const Tensor& tensor = sample[field];
  const Shape& shape = tensor.shape();
  if (is_image(tensor.dtype(), shape)) return {nullptr, shape[0], shape[1], shape[2], shape[3]};
  throw DataError("field \"" + field + voxels_rule + std::string(name_of(tensor.dtype())) + " " +
                  to_string(shape));
}

Voxels edit_voxels(Sample& sample, const std::string& field) {
  Voxels voxels = voxel_shape(sample, field);
  voxels.data = sample.edit(field).data<float>();
  return voxels;
}

double draw_about_one(const std::array<double, 2>& range, Random& random) {
  const bool below = random.chance(0.5) && range[0] < 1;
  return draw_uniform(below ? std::array{range[0], std::min(1.0, range[1])}
                            : std::array{std::max(range[0], 1.0), std::max(range[1], 1.0)},
                      random);
}

}  // namespace headrace::inline v1::detail
