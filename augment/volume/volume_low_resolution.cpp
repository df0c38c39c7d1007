#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/augment/volume/volume_low_resolution.h>

namespace headrace::inline v1 {

Schema VolumeLowResolution::schema(const Schema& in) const {
  detail::check_intensity(*this, in, {zoom, {0.01, 1}, "zoom"});
  return in;
}

std::size_t VolumeLowResolution::working_bytes(const Schema& in) const {
  const Shape& shape = detail::voxel_field(in, field, name()).shape;
  return sizeof(float) * detail::low_resolution_values({nullptr, 1, shape[1], shape[2], shape[3]},
                                                       {shape[1], shape[2], shape[3]});
}

void VolumeLowResolution::operator()(Sample& sample, Random& random) const {
  const std::int64_t channels = detail::voxel_shape(sample, field).channels;
  detail::apply_to_field(draw(channels, random), field, sample);
}

VolumeLowResolutionParameters VolumeLowResolution::draw(std::int64_t channels,
                                                        Random& random) const {
  VolumeLowResolutionParameters drawn;
  drawn.channels = detail::draw_changed(*this, channels, random, [&](std::size_t c) {
    const auto all = static_cast<float>(detail::draw_uniform(zoom, random));
    drawn.zoom[c] = {keep_depth ? 1.0F : all, all, all};
  });
  return drawn;
}

}  // namespace headrace::inline v1
