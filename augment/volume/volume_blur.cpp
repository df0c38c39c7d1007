#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/volume_blur.h>

namespace headrace::inline v1 {

Schema VolumeBlur::schema(const Schema& in) const {
  detail::check_intensity(*this, in, {deviation, {0.1, 20}, "deviation"});
  return in;
}

std::size_t VolumeBlur::working_bytes(const Schema& in) const {
  const Shape& shape = detail::voxel_field(in, field, name()).shape;
  const detail::BlurAxis axis = detail::blur_axis(deviation[1]);
  return sizeof(float) *
         detail::blur_values({nullptr, 1, shape[1], shape[2], shape[3]}, {axis, axis, axis});
}

void VolumeBlur::operator()(Sample& sample, Random& random) const {
  const std::int64_t channels = detail::voxel_shape(sample, field).channels;
  detail::apply_to_field(draw(channels, random), field, sample);
}

VolumeBlurParameters VolumeBlur::draw(std::int64_t channels, Random& random) const {
  VolumeBlurParameters drawn;
  drawn.channels = detail::draw_changed(*this, channels, random, [&](std::size_t c) {
    for (float& axis : drawn.deviations[c])
      axis = static_cast<float>(detail::draw_uniform(deviation, random));
  });
  return drawn;
}

}  // namespace headrace::inline v1
