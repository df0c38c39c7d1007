#include <headrace/augment/spectrogram/detail/spec_masks.h>
#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/augment/spectrogram/spec_augment.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::inline v1 {
namespace {

using detail::SpecMasks;
using detail::SpecTask;

struct Planes {
  std::int64_t count = 1;
  std::int64_t bins = 0;
  std::int64_t frames = 0;
};

/// The planes of [..., bins, frames] behind the first `skip` axes.
Planes planes_of(const SpecAugment& how, const Shape& shape, int skip = 0) {
  Planes planes;
  const int rank = shape.rank();
  for (int axis = skip; axis < rank - 2; ++axis)
    planes.count *= shape[axis];
  planes.bins = shape[rank - 2];
  planes.frames = shape[rank - 1];
  if (how.layout == SpecAugment::Layout::time_first) std::swap(planes.bins, planes.frames);
  return planes;
}

bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float16 || dtype == DType::bfloat16;
}

std::int64_t mask_rows(const SpecAugment& how, const Planes& planes) {
  return how.rule == SpecAugment::Rule::torchaudio ? planes.count : 1;
}

std::string masks_name(const SpecAugment& how) {
  return how.field + "_masks";
}

bool in_mask_limit(int masks) {
  return masks >= 0 && masks <= detail::most_spec_masks;
}

/// Empty when the parameters can be right, else the rule and what came.
std::string fault(const SpecAugment& how) {
  if (!in_mask_limit(how.frequency_masks) || !in_mask_limit(how.time_masks)) {
    return "there must be 0 to " + std::to_string(detail::most_spec_masks) +
           " masks on each axis, got " + std::to_string(how.frequency_masks) + " and " +
           std::to_string(how.time_masks);
  }
  const std::array widths{how.time_warp, how.frequency_width, how.time_width, how.smallest_frames};
  if (const auto [least, most] = std::minmax_element(widths.begin(), widths.end());
      *least < 0 || *most > detail::most_spec_cells) {
    return "time_warp, frequency_width, time_width and smallest_frames must lie in [0, 2^30], "
           "got " +
           std::to_string(*least < 0 ? *least : *most);
  }
  if (!(how.time_share >= 0.0 && how.time_share <= 1.0)) {
    return "time_share must lie in [0, 1], got " + std::to_string(how.time_share);
  }
  if (!std::all_of(how.fill.begin(), how.fill.end(), [](float v) { return std::isfinite(v); })) {
    return "fill must be finite";
  }
  return "";
}

/// The same for spectrograms of that dtype and shape.
std::string fault(const SpecAugment& how, DType dtype, const Shape& shape, int skip) {
  if (!is_float(dtype) || shape.rank() < 2 + skip) {
    return "field \"" + how.field +
           "\" must be float32, float16 or bfloat16 [..., bins, frames], " + "got " +
           std::string(name_of(dtype)) + " " + to_string(shape);
  }
  const Planes planes = planes_of(how, shape, skip);
  if (planes.bins > detail::most_spec_cells || planes.frames > detail::most_spec_cells) {
    return "an axis may have 2^30 cells, got " + to_string(shape);
  }
  const auto values = static_cast<std::int64_t>(how.fill.size());
  if (values != 1 && values != planes.bins) {
    return "fill must have one value, or " + std::to_string(planes.bins) +
           " as there are bins, got " + std::to_string(values);
  }
  return "";
}

const FieldSpec& checked_field(const SpecAugment& how, const Schema& in) {
  const FieldSpec& spec = in.at(how.field, how.name());
  std::string rule = fault(how);
  if (rule.empty() && spec.kind == FieldSpec::Kind::ragged) {
    rule = "field \"" + how.field + "\" must be fixed or padded, got " + to_string(spec);
  }
  if (rule.empty()) rule = fault(how, spec.dtype, spec.shape, 0);
  if (rule.empty() && !how.length.empty()) {
    const FieldSpec& length = in.at(how.length, how.name());
    const bool integer = length.dtype == DType::int64 || length.dtype == DType::int32;
    if (!integer || length.shape.rank() != 0) {
      rule = "length \"" + how.length + "\" must be int64 or int32 [], got " + to_string(length);
    }
  }
  if (!rule.empty()) throw ConfigError("[spec augment] " + rule);
  return spec;
}

std::int64_t valid_frames(const SpecAugment& how, const Sample& sample, std::int64_t frames) {
  if (how.length.empty()) return frames;
  const Tensor& length = sample[how.length];
  const std::int64_t valid = length.dtype() == DType::int32
                                 ? std::int64_t{length.item<std::int32_t>()}
                                 : length.item<std::int64_t>();
  if (valid < 0 || valid > frames) {
    throw DataError("length \"" + how.length + "\" must lie in [0, " + std::to_string(frames) +
                    "], got " + std::to_string(valid));
  }
  return valid;
}

void draw(const SpecAugment& how, const Planes& planes, std::int64_t frames, Random& random,
          std::span<std::int32_t> masks) {
  const auto values = static_cast<std::size_t>(SpecMasks::values(how));
  for (std::size_t first = 0; first < masks.size(); first += values)
    detail::draw_spec_masks(how, planes.bins, frames, random, masks.subspan(first, values));
}

SpecTask task_for(const SpecAugment& how, const Planes& planes, DType dtype) {
  return {.dtype = dtype,
          .frequency_first = how.layout == SpecAugment::Layout::frequency_first,
          .planes = planes.count,
          .bins = planes.bins,
          .frames = planes.frames,
          .mask_values = SpecMasks::values(how),
          .planes_per_row = planes.count / std::max<std::int64_t>(1, mask_rows(how, planes)),
          .frequency_masks = how.frequency_masks,
          .time_masks = how.time_masks,
          .warps = how.time_warp > 0,
          .fill = how.fill.data(),
          .fill_per_bin = how.fill.size() > 1};
}

/// The batch's spectrograms, as they are.
Tensor checked_batch(const SpecAugment& how, const Batch& batch) {
  Tensor from = batch[how.field];
  const std::string rule = fault(how, from.dtype(), from.shape(), 1);
  if (!rule.empty()) throw PipelineError("[spec augment] " + rule);
  return from;
}

/// In place without a warp, else into memory of the batch.
SpecTask batch_task(const SpecAugment& how, Batch& batch, const Tensor& from,
                    const std::int32_t* masks) {
  const Planes planes = planes_of(how, from.shape(), 1);
  SpecTask task = task_for(how, planes, from.dtype());
  task.planes = from.shape()[0] * planes.count;
  task.masks = masks;
  task.from = from.raw();
  task.to = task.warps ? batch.make(how.field, from.dtype(), from.shape()).raw() : from.raw();
  return task;
}

Planes checked_planes(const SpecAugment& how, const Tensor& spectrogram) {
  const std::string rule = fault(how, spectrogram.dtype(), spectrogram.shape(), 0);
  if (!rule.empty()) throw DataError(rule);
  return planes_of(how, spectrogram.shape());
}

}  // namespace

SpecAugment SpecAugment::policy(std::string_view name) {
  SpecAugment policy{.time_warp = 80,
                     .frequency_masks = 1,
                     .frequency_width = 27,
                     .time_masks = 1,
                     .time_width = 100};
  if (name == "LB") return policy;
  policy.frequency_masks = policy.time_masks = 2;
  if (name == "LD") return policy;
  policy.time_warp = 40;
  policy.time_width = 70;
  policy.time_share = 0.2;
  if (name == "SS") return policy;
  policy.frequency_width = 15;
  if (name == "SM") return policy;
  throw ConfigError("[spec augment] policy must be LB, LD, SM or SS, got \"" + std::string(name) +
                    "\"");
}

SpecAugment SpecAugment::few_frames(std::int64_t bins) {
  return {.frequency_masks = 1,
          .frequency_width = bins / 6,
          .time_masks = 1,
          .time_width = detail::most_spec_cells,
          .time_share = 0.25,
          .smallest_frames = 4,
          .at_least_one_frame = true};
}

Schema SpecAugment::schema(const Schema& in) const {
  checked_field(*this, in);
  return in;
}

std::size_t SpecAugment::working_bytes(const Schema& in) const {
  const FieldSpec& spec = in.at(field, name());
  const Planes planes = planes_of(*this, spec.shape);
  const auto frames = static_cast<std::size_t>(planes.frames);
  const std::size_t taps = time_warp > 0 ? frames * sizeof(detail::WarpTap) : 0;
  return taps + fill.size() * sizeof(float) +
         static_cast<std::size_t>(mask_rows(*this, planes) * SpecMasks::values(*this)) *
             sizeof(std::int32_t);
}

void SpecAugment::operator()(Sample& sample, Random& random) const {
  const Tensor from = sample[field];
  const Planes planes = checked_planes(*this, from);
  std::array<std::int32_t, 256> few;
  std::vector<std::int32_t> many;
  const auto wanted = static_cast<std::size_t>(mask_rows(*this, planes) * SpecMasks::values(*this));
  if (wanted > few.size()) many.resize(wanted);
  const std::span<std::int32_t> masks(many.empty() ? few.data() : many.data(), wanted);
  draw(*this, planes, valid_frames(*this, sample, planes.frames), random, masks);

  SpecTask task = task_for(*this, planes, from.dtype());
  task.from = from.raw();
  task.to = sample.make(field, from.dtype(), from.shape()).raw();
  task.masks = masks.data();
  detail::spec_augment_on_host(task);
}

Schema DrawSpecAugment::schema(const Schema& in) const {
  if (shape.rank() > 0) {
    std::string rule = fault(augment);
    if (rule.empty()) rule = fault(augment, DType::float32, shape, 0);
    if (!rule.empty()) throw ConfigError("[spec augment] " + rule);
  }
  const Planes planes =
      planes_of(augment, shape.rank() > 0 ? shape : checked_field(augment, in).shape);
  Schema out = in;
  out.put(FieldSpec::fixed(masks_name(augment), DType::int32,
                           Shape{mask_rows(augment, planes), SpecMasks::values(augment)}));
  return out;
}

void DrawSpecAugment::operator()(Sample& sample, Random& random) const {
  const Planes planes =
      shape.rank() > 0 ? planes_of(augment, shape) : checked_planes(augment, sample[augment.field]);
  const std::int64_t frames = valid_frames(augment, sample, planes.frames);
  Tensor& masks = sample.make(masks_name(augment), DType::int32,
                              Shape{mask_rows(augment, planes), SpecMasks::values(augment)});
  draw(augment, planes, frames, random, masks.values<std::int32_t>());
}

Schema ApplySpecAugment::schema(const Schema& in) const {
  const FieldSpec& spec = checked_field(augment, in);
  const FieldSpec& masks = in.at(masks_name(augment), name());
  const Planes planes = planes_of(augment, spec.shape);
  const Shape wanted{mask_rows(augment, planes), SpecMasks::values(augment)};
  if (masks.dtype != DType::int32 || masks.shape != wanted) {
    throw ConfigError("[spec augment] field \"" + masks.name + "\" must be int32 " +
                      to_string(wanted) + ", got " + to_string(masks) +
                      "; draw and apply with the same parameters");
  }
  return in;
}

void ApplySpecAugment::operator()(Batch& batch, Stream stream) const {
  const Tensor from = checked_batch(augment, batch);
  const Shape& shape = from.shape();
  const Tensor masks = batch[masks_name(augment)];
  const Shape wanted{shape[0], mask_rows(augment, planes_of(augment, shape, 1)),
                     SpecMasks::values(augment)};
  if (masks.dtype() != DType::int32 || masks.shape() != wanted) {
    throw PipelineError("[spec augment] field \"" + masks_name(augment) + "\" must be int32 " +
                        to_string(wanted) + ", got " + std::string(name_of(masks.dtype())) + " " +
                        to_string(masks.shape()));
  }
  const SpecTask task = batch_task(augment, batch, from, masks.data<std::int32_t>());
  if (from.device().is_cuda()) {
    if (task.fill_per_bin && task.bins > detail::most_filled_bins) {
      throw DeviceError("[spec augment] on a device at most " +
                        std::to_string(detail::most_filled_bins) +
                        " bins may have a fill of their own, got " + std::to_string(task.bins) +
                        "; give one for all");
    }
    detail::launch(detail::spec_augment_kernel, &task, from.device(), stream);
  } else {
    detail::spec_augment_on_host(task);
  }
}

Schema SpecAugmentBatch::schema(const Schema& in) const {
  checked_field(augment, in);
  return in;
}

void SpecAugmentBatch::operator()(Batch& batch, Stream) const {
  const Tensor from = checked_batch(augment, batch);
  if (from.device().is_cuda()) {
    throw PipelineError(
        "[spec augment] SpecAugmentBatch works in host memory, got a batch on a device; put "
        "DrawSpecAugment before batch() and ApplySpecAugment after it");
  }
  const std::int64_t rows = from.shape()[0];
  if (rows == 0) return;
  const Planes planes = planes_of(augment, from.shape(), 1);
  const auto values =
      static_cast<std::size_t>(mask_rows(augment, planes) * SpecMasks::values(augment));
  thread_local std::vector<std::int32_t> masks;
  masks.resize(static_cast<std::size_t>(rows) * values);
  const Tensor lengths = augment.length.empty() ? Tensor() : batch[augment.length];
  RandomKey key{.seed = seed,
                .loader = hash_name("spec augment of a batch"),
                .epoch = batch.epoch(),
                .position = batch.rows(0, 1).origins().front().position};
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row, ++key.position) {
    std::int64_t frames = planes.frames;
    if (lengths.defined()) {
      frames = std::clamp<std::int64_t>(lengths.dtype() == DType::int32
                                            ? std::int64_t{lengths.data<std::int32_t>()[row]}
                                            : lengths.data<std::int64_t>()[row],
                                        0, planes.frames);
    }
    Random random(key);
    draw(augment, planes, frames, random, std::span(masks).subspan(row * values, values));
  }
  detail::spec_augment_on_host(batch_task(augment, batch, from, masks.data()));
}

}  // namespace headrace::inline v1
