#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr float epsilon = 1e-7F;  // batchgeneratorsv2's least divisor

VoxelStep negation() {
  return {.kind = VoxelStep::Kind::negate};
}

}  // namespace

std::uint32_t draw_channels(std::int64_t channels, double p, Random& random) {
  std::uint32_t drawn = 0;
  for (std::int64_t c = 0; c < channels; ++c)
    drawn |= static_cast<std::uint32_t>(random.chance(p)) << c;
  return drawn;
}

void apply(const VolumeNoiseParameters& drawn, const Voxels&, std::int64_t channel,
           VoxelChain& chain) {
  chain.add({.kind = VoxelStep::Kind::noise,
             .scale = drawn.deviation,
             .key = drawn.key,
             .channel = static_cast<std::uint32_t>(channel)});
}

void apply(const VolumeBlurParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain) {
  const auto& deviations = drawn.deviations[static_cast<std::size_t>(channel)];
  chain.flush();
  blur_channel(chain.data(), shape,
               {blur_axis(deviations[0]), blur_axis(deviations[1]), blur_axis(deviations[2])},
               chain.target());
}

void apply(const VolumeBrightnessParameters& drawn, const Voxels&, std::int64_t channel,
           VoxelChain& chain) {
  chain.add(
      {.kind = VoxelStep::Kind::scale, .scale = drawn.factor[static_cast<std::size_t>(channel)]});
}

void apply(const VolumeContrastParameters& drawn, const Voxels&, std::int64_t channel,
           VoxelChain& chain) {
  const VoxelStatistics before = chain.measure();
  chain.add({.kind = VoxelStep::Kind::affine,
             .scale = drawn.factor[static_cast<std::size_t>(channel)],
             .from = before.mean,
             .to = before.mean});
  if (!drawn.preserve_range) return;
  chain.add({.kind = VoxelStep::Kind::clamp, .from = before.least, .to = before.most});
}

void apply(const VolumeLowResolutionParameters& drawn, const Voxels& shape, std::int64_t channel,
           VoxelChain& chain) {
  const auto& zoom = drawn.zoom[static_cast<std::size_t>(channel)];
  chain.flush();
  lower_resolution(chain.data(), shape,
                   {zoomed_size(shape.depth, zoom[0]), zoomed_size(shape.height, zoom[1]),
                    zoomed_size(shape.width, zoom[2])},
                   chain.target());
}

void apply(const VolumeGammaParameters& drawn, const Voxels&, std::int64_t channel,
           VoxelChain& chain) {
  VoxelStatistics before = chain.measure();
  if (drawn.invert) {
    before = negated(before);
    chain.add(negation());
  }
  const float range = before.most - before.least;
  chain.add({.kind = VoxelStep::Kind::power,
             .scale = range,
             .from = before.least,
             .divisor = std::max(range, epsilon),
             .exponent = drawn.exponent[static_cast<std::size_t>(channel)]});
  if (drawn.retain) {
    const VoxelStatistics after = chain.measure();
    chain.add({.kind = VoxelStep::Kind::affine,
               .scale = before.deviation / std::max(after.deviation, epsilon),
               .from = after.mean,
               .to = before.mean});
  }
  if (drawn.invert) chain.add(negation());
}

}  // namespace headrace::inline v1::detail
