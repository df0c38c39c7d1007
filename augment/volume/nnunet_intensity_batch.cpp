#include <headrace/augment/volume/detail/intensity_task.h>
#include <headrace/augment/volume/detail/plan_intensity.h>
#include <headrace/augment/volume/detail/voxels.h>
#include <headrace/augment/volume/nnunet_intensity_batch.h>
#include <headrace/engine/base/error.h>

#include <cstring>
#include <limits>

namespace headrace::inline v1 {
namespace {

using detail::IntensityPlan;
using detail::IntensityTask;

constexpr auto plan_bytes = static_cast<std::int64_t>(sizeof(IntensityPlan));

std::string plans_name(const NnUNetIntensity& how) {
  return how.field + "_intensity";
}

bool fits_kernels(const Shape& shape) {
  if (shape.rank() != 4) return false;
  for (int axis = 1; axis < 4; ++axis)
    if (shape[axis] < 1 || shape[axis] > std::numeric_limits<std::int32_t>::max()) return false;
  return shape[0] >= 1 && shape[0] <= most_volume_channels;
}

/// The images' one shape.
Shape checked_shape(const NnUNetIntensity& how, const Schema& in) {
  how.schema(in);
  const FieldSpec& image = in.at(how.field, how.name());
  if (image.kind != FieldSpec::Kind::fixed || !fits_kernels(image.shape)) {
    throw ConfigError("[nnunet intensity] of a batch field \"" + how.field +
                      "\" must have one shape of at least one voxel, got " + to_string(image) +
                      "; let NnUNetIntensity work on the samples");
  }
  return image.shape;
}

detail::Voxels batch_voxels(const Shape& shape) {
  return {nullptr, shape[0], shape[1], shape[2], shape[3]};
}

/// What any row may have.
std::uint32_t possible_parts(const NnUNetIntensity& how) {
  std::uint32_t parts = 0;
  if (how.noise.p > 0) parts |= IntensityPlan::noise;
  if (how.blur.p > 0) parts |= IntensityPlan::blur;
  if (how.brightness.p > 0) parts |= IntensityPlan::brightness;
  if (how.contrast.p > 0) parts |= IntensityPlan::contrast;
  if (how.low_resolution.p > 0) parts |= IntensityPlan::low_resolution;
  if (how.gamma_inverted.p > 0) parts |= IntensityPlan::gamma;
  if (how.gamma.p > 0) parts |= IntensityPlan::gamma << 1U;
  return parts;
}

void apply_on_host(const Tensor& image, const Tensor& plans) {
  const Shape& shape = image.shape();
  const detail::Voxels voxels{nullptr, shape[1], shape[2], shape[3], shape[4]};
  const auto* at = static_cast<const std::byte*>(plans.raw());
  auto* data = image.data<float>();
  for (std::int64_t row = 0; row < shape[0] * shape[1]; ++row) {
    IntensityPlan plan;
    std::memcpy(&plan, at + row * plan_bytes, sizeof plan);
    detail::intensity_on_host(plan, voxels, row % shape[1], data + row * voxels.count());
  }
}

}  // namespace

Schema DrawNnUNetIntensity::schema(const Schema& in) const {
  Schema out = in;
  Shape drawn = shape;
  if (shape.rank() == 0) {
    drawn = checked_shape(augment, in);
  } else {
    checked_shape(augment, Schema{FieldSpec::fixed(augment.field, DType::float32, shape)});
  }
  out.put(FieldSpec::fixed(plans_name(augment), DType::uint8, Shape{drawn[0], plan_bytes}));
  return out;
}

void DrawNnUNetIntensity::operator()(Sample& sample, Random& random) const {
  const detail::Voxels voxels =
      shape.rank() > 0 ? batch_voxels(shape) : detail::voxel_shape(sample, augment.field);
  const NnUNetIntensity::Parameters drawn = augment.draw(voxels.channels, random);
  Tensor& plans =
      sample.make(plans_name(augment), DType::uint8, Shape{voxels.channels, plan_bytes});
  auto* to = static_cast<std::byte*>(plans.raw());
  for (std::int64_t c = 0; c < voxels.channels; ++c, to += plan_bytes) {
    const IntensityPlan plan = detail::plan_intensity(drawn, voxels, c);
    std::memcpy(to, &plan, sizeof plan);
  }
}

Schema ApplyNnUNetIntensity::schema(const Schema& in) const {
  const Shape shape = checked_shape(augment, in);
  const FieldSpec& plans = in.at(plans_name(augment), name());
  if (plans.dtype != DType::uint8 || plans.shape != Shape{shape[0], plan_bytes}) {
    throw ConfigError("[nnunet intensity] field \"" + plans.name +
                      "\" must be as DrawNnUNetIntensity makes it, got " + to_string(plans));
  }
  Schema out = in;
  const std::size_t memory = detail::intensity_memory(shape[0], batch_voxels(shape).count());
  out.put(FieldSpec::fixed(plans.name, DType::uint8, Shape{static_cast<std::int64_t>(memory)}));
  return out;
}

void ApplyNnUNetIntensity::operator()(Batch& batch, Stream stream) const {
  const Tensor image = batch[augment.field];
  const Tensor plans = batch[plans_name(augment)];
  const Shape& shape = image.shape();
  const bool right = image.dtype() == DType::float32 && shape.rank() == 5 &&
                     plans.dtype() == DType::uint8 &&
                     plans.shape() == Shape{shape[0], shape[1], plan_bytes};
  if (!right) {
    throw PipelineError("[nnunet intensity] field \"" + augment.field +
                        "\" must be float32 [rows, channels, z, y, x] with the plans that "
                        "DrawNnUNetIntensity makes, got " +
                        std::string(name_of(image.dtype())) + " " + to_string(shape) + " and " +
                        to_string(plans.shape()));
  }
  if (shape.elements() == 0) return;
  if (!image.device().is_cuda()) return apply_on_host(image, plans);
  IntensityTask task{
      .image = image.data<float>(),
      .plans = static_cast<const IntensityPlan*>(static_cast<const void*>(plans.raw())),
      .rows = shape[0] * shape[1],
      .channels = static_cast<std::int32_t>(shape[1]),
      .extent = {static_cast<std::int32_t>(shape[2]), static_cast<std::int32_t>(shape[3]),
                 static_cast<std::int32_t>(shape[4])},
      .parts = possible_parts(augment)};
  const auto per_row = static_cast<std::int64_t>(detail::intensity_memory(shape[1], task.count()));
  const Tensor memory = batch.make(plans_name(augment), DType::uint8, Shape{shape[0], per_row});
  detail::set_memory(task, static_cast<std::byte*>(memory.raw()));
  detail::intensity_on_device(task, image.device(), stream);
}

}  // namespace headrace::inline v1
