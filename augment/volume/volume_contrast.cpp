#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/volume_contrast.h>

namespace headrace::inline v1 {

Schema VolumeContrast::schema(const Schema& in) const {
  detail::check_intensity(*this, in, {factor, {0, 1e6}, "factor"});
  return in;
}

void VolumeContrast::operator()(Sample& sample, Random& random) const {
  const std::int64_t channels = detail::voxel_shape(sample, field).channels;
  detail::apply_to_field(draw(channels, random), field, sample);
}

VolumeContrastParameters VolumeContrast::draw(std::int64_t channels, Random& random) const {
  VolumeContrastParameters drawn;
  drawn.preserve_range = preserve_range;
  drawn.channels = detail::draw_changed(*this, channels, random, [&](std::size_t c) {
    drawn.factor[c] = static_cast<float>(detail::draw_about_one(factor, random));
  });
  return drawn;
}

}  // namespace headrace::inline v1
