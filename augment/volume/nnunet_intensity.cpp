#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/nnunet_intensity.h>

namespace headrace::inline v1 {
namespace {

/// Calls `use` with each part, in order.
template <class Op, class Use>
void for_parts(Op& op, const Use& use) {
  use(op.noise);
  use(op.blur);
  use(op.brightness);
  use(op.contrast);
  use(op.low_resolution);
  use(op.gamma_inverted);
  use(op.gamma);
}

/// The part, for the field of the whole.
template <class Part>
Part on_field(Part part, const std::string& field) {
  part.field = field;
  return part;
}

}  // namespace

Schema NnUNetIntensity::schema(const Schema& in) const {
  for_parts(*this, [&](const auto& part) { on_field(part, field).schema(in); });
  return in;
}

std::size_t NnUNetIntensity::working_bytes(const Schema& in) const {
  return on_field(blur, field).working_bytes(in) +
         on_field(low_resolution, field).working_bytes(in);
}

void NnUNetIntensity::operator()(Sample& sample, Random& random) const {
  apply(sample, draw(detail::voxel_shape(sample, field).channels, random));
}

NnUNetIntensity::Parameters NnUNetIntensity::draw(std::int64_t channels, Random& random) const {
  Parameters drawn;
  drawn.noise = noise.draw(channels, random);
  drawn.blur = blur.draw(channels, random);
  drawn.brightness = brightness.draw(channels, random);
  drawn.contrast = contrast.draw(channels, random);
  drawn.low_resolution = low_resolution.draw(channels, random);
  drawn.gamma_inverted = gamma_inverted.draw(channels, random);
  drawn.gamma = gamma.draw(channels, random);
  return drawn;
}

void NnUNetIntensity::apply(Sample& sample, const Parameters& drawn) const {
  std::uint32_t touched = 0;
  for_parts(drawn, [&](const auto& part) { touched |= part.channels; });
  if (touched == 0) return;
  const detail::Voxels voxels = detail::edit_voxels(sample, field);
  for (std::int64_t c = 0; c < voxels.channels; ++c) {
    if (!detail::has_channel(touched, c)) continue;
    detail::VoxelChain chain(voxels.channel(c), voxels.count());
    for_parts(drawn, [&](const auto& part) {
      if (detail::has_channel(part.channels, c)) detail::apply(part, voxels, c, chain);
    });
    chain.flush();
  }
}

}  // namespace headrace::inline v1
