#include <headrace/augment/volume/detail/intensity.h>
#include <headrace/augment/volume/detail/plan_intensity.h>
#include <headrace/augment/volume/detail/volume_filters.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace headrace::inline v1::detail {
namespace {

static_assert(std::is_trivially_copyable_v<IntensityPlan>);
static_assert(IntensityPlan::most_reach == most_volume_taps / 2);

using Part = IntensityPlan::Part;

constexpr std::size_t most_alignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + most_alignment - 1) / most_alignment * most_alignment;
}

std::size_t scratch_bytes(std::int64_t rows, std::int64_t voxels) {
  return aligned(static_cast<std::size_t>(rows * voxels) * sizeof(float));
}

std::size_t sum_bytes(std::int64_t rows, std::int64_t voxels) {
  return static_cast<std::size_t>(rows * (voxels / 1024)) * sizeof(BlockSums);
}

void plan_blur(const VolumeBlurParameters& drawn, std::size_t channel, IntensityPlan& plan) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const BlurAxis blur = blur_axis(drawn.deviations[channel][axis]);
    plan.reach[axis] = blur.reach;
    std::copy(blur.weights.begin(), blur.weights.end(), plan.weights[axis]);
  }
}

void plan_gamma(const VolumeGammaParameters& drawn, std::size_t channel, unsigned number,
                IntensityPlan& plan) {
  plan.exponents[number] = drawn.exponent[channel];
  plan.parts |= Part::gamma << number;
  if (drawn.invert) plan.parts |= Part::inverts << number;
  if (drawn.retain) plan.parts |= Part::retains << number;
}

bool has(const IntensityPlan& plan, std::uint32_t part) {
  return (plan.parts & part) != 0;
}

}  // namespace

IntensityPlan plan_intensity(const NnUNetIntensity::Parameters& drawn, const Voxels& shape,
                             std::int64_t channel) {
  IntensityPlan plan{};
  const auto c = static_cast<std::size_t>(channel);
  if (has_channel(drawn.noise.channels, channel)) {
    plan.parts |= Part::noise;
    plan.noise_deviation = drawn.noise.deviation;
    std::ranges::copy(drawn.noise.key, plan.noise_key);
  }
  if (has_channel(drawn.blur.channels, channel)) {
    plan.parts |= Part::blur;
    plan_blur(drawn.blur, c, plan);
  }
  if (has_channel(drawn.brightness.channels, channel)) {
    plan.parts |= Part::brightness;
    plan.brightness_factor = drawn.brightness.factor[c];
  }
  if (has_channel(drawn.contrast.channels, channel)) {
    plan.parts |= Part::contrast;
    if (drawn.contrast.preserve_range) plan.parts |= Part::keeps_range;
    plan.contrast_factor = drawn.contrast.factor[c];
  }
  if (has_channel(drawn.low_resolution.channels, channel)) {
    plan.parts |= Part::low_resolution;
    const std::array sides{shape.depth, shape.height, shape.width};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      plan.small[axis] =
          static_cast<std::int32_t>(zoomed_size(sides[axis], drawn.low_resolution.zoom[c][axis]));
    }
  }
  if (has_channel(drawn.gamma_inverted.channels, channel))
    plan_gamma(drawn.gamma_inverted, c, 0, plan);
  if (has_channel(drawn.gamma.channels, channel)) plan_gamma(drawn.gamma, c, 1, plan);
  return plan;
}

void intensity_on_host(const IntensityPlan& plan, const Voxels& shape, std::int64_t channel,
                       float* data) {
  VoxelChain chain(data, shape.count());
  const auto c = static_cast<std::size_t>(channel);
  if (has(plan, Part::noise)) {
    apply(VolumeNoiseParameters{.deviation = plan.noise_deviation,
                                .key = {plan.noise_key[0], plan.noise_key[1]}},
          shape, channel, chain);
  }
  if (has(plan, Part::blur)) {
    std::array<BlurAxis, 3> axes;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      axes[axis].reach = plan.reach[axis];
      std::ranges::copy(plan.weights[axis], axes[axis].weights.begin());
    }
    chain.flush();
    blur_channel(data, shape, axes);
  }
  if (has(plan, Part::brightness)) {
    VolumeBrightnessParameters drawn;
    drawn.factor[c] = plan.brightness_factor;
    apply(drawn, shape, channel, chain);
  }
  if (has(plan, Part::contrast)) {
    VolumeContrastParameters drawn{.preserve_range = has(plan, Part::keeps_range)};
    drawn.factor[c] = plan.contrast_factor;
    apply(drawn, shape, channel, chain);
  }
  if (has(plan, Part::low_resolution)) {
    chain.flush();
    lower_resolution(data, shape, {plan.small[0], plan.small[1], plan.small[2]});
  }
  for (unsigned number = 0; number < 2; ++number) {
    if (!has(plan, Part::gamma << number)) continue;
    VolumeGammaParameters drawn{.invert = has(plan, Part::inverts << number),
                                .retain = has(plan, Part::retains << number)};
    drawn.exponent[c] = plan.exponents[number];
    apply(drawn, shape, channel, chain);
  }
  chain.flush();
}

std::size_t intensity_memory(std::int64_t rows, std::int64_t voxels) {
  return scratch_bytes(rows, voxels) + sum_bytes(rows, voxels) +
         aligned(static_cast<std::size_t>(rows * IntensityTask::measures) * sizeof(MeasuredVoxels));
}

void set_memory(IntensityTask& task, std::byte* memory) {
  task.scratch = reinterpret_cast<float*>(memory);
  memory += scratch_bytes(task.rows, task.count());
  task.sums = reinterpret_cast<BlockSums*>(memory);
  memory += sum_bytes(task.rows, task.count());
  task.measured = reinterpret_cast<MeasuredVoxels*>(memory);
}

void intensity_on_device(IntensityTask task, Device device, Stream stream) {
  using Stage = IntensityStage;
  const auto any = [&](std::uint32_t parts) { return (task.parts & parts) != 0; };
  const auto pass = [&](Stage stage) {
    task.stage = stage;
    launch(intensity_pass_kernel, &task, device, stream);
  };
  constexpr std::uint32_t second = Part::gamma << 1U;
  if (any(Part::blur)) {
    if (any(Part::noise)) pass(Stage::noise);
    for (task.axis = 0; task.axis < 3; ++task.axis)
      launch(volume_blur_kernel, &task, device, stream);
  }
  if (any(Part::noise | Part::blur | Part::brightness | Part::contrast)) pass(Stage::blurred);
  if (any(Part::low_resolution)) {
    if (any(Part::contrast)) pass(Stage::contrast);
    launch(low_resolution_kernel, &task, device, stream);
  }
  if (any(Part::contrast | Part::low_resolution | Part::gamma | second)) pass(Stage::resampled);
  if (any(Part::gamma)) {
    pass(Stage::raised);
    pass(Stage::settled);
  }
  if (any(second)) {
    pass(Stage::raised_again);
    pass(Stage::settled_again);
  }
}

}  // namespace headrace::inline v1::detail
