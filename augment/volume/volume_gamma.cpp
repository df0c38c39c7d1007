#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/volume_gamma.h>

namespace headrace::inline v1 {

Schema VolumeGamma::schema(const Schema& in) const {
  detail::check_intensity(*this, in, {exponent, {0.01, 100}, "exponent"});
  return in;
}

void VolumeGamma::operator()(Sample& sample, Random& random) const {
  const std::int64_t channels = detail::voxel_shape(sample, field).channels;
  detail::apply_to_field(draw(channels, random), field, sample);
}

VolumeGammaParameters VolumeGamma::draw(std::int64_t channels, Random& random) const {
  VolumeGammaParameters drawn;
  drawn.invert = invert;
  drawn.retain = retain_stats;
  drawn.channels = detail::draw_changed(*this, channels, random, [&](std::size_t c) {
    const double exponent_drawn = rule == Rule::uniform ? detail::draw_uniform(exponent, random)
                                                        : detail::draw_about_one(exponent, random);
    drawn.exponent[c] = static_cast<float>(exponent_drawn);
  });
  return drawn;
}

}  // namespace headrace::inline v1
