#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/volume_noise.h>

namespace headrace::inline v1 {

Schema VolumeNoise::schema(const Schema& in) const {
  detail::check_intensity(*this, in, {deviation, {0, 1e6}, "deviation"});
  return in;
}

void VolumeNoise::operator()(Sample& sample, Random& random) const {
  const std::int64_t channels = detail::voxel_shape(sample, field).channels;
  detail::apply_to_field(draw(channels, random), field, sample);
}

VolumeNoiseParameters VolumeNoise::draw(std::int64_t channels, Random& random) const {
  VolumeNoiseParameters drawn;
  if (!random.chance(p)) return drawn;
  drawn.channels = detail::draw_channels(channels, channel_p, random);
  drawn.deviation = static_cast<float>(detail::draw_uniform(deviation, random));
  drawn.key = {random(), random()};
  return drawn;
}

}  // namespace headrace::inline v1
