#include <headrace/augment/detail/normalize_task.h>
#include <headrace/augment/detail/picture.h>
#include <headrace/augment/normalize.h>
#include <headrace/engine/base/error.h>

namespace headrace::inline v1 {
namespace {

detail::NormalizeTask task_for(const Normalize& op, std::int64_t height, std::int64_t width,
                               std::int64_t channels) {
  detail::NormalizeTask task{.dtype = op.dtype,
                             .channels_first = op.layout == Normalize::Layout::channels_first,
                             .pictures = 1,
                             .pixels = height * width,
                             .width = width,
                             .channels = static_cast<int>(channels)};
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const std::size_t i = op.mean.size() == 1 ? 0 : c;
    task.factor[c] = static_cast<float>(1.0 / (255.0 * op.std[i]));
    task.offset[c] = static_cast<float>(-double(op.mean[i]) / op.std[i]);
  }
  return task;
}

Shape shape_of(const Normalize& op, std::int64_t height, std::int64_t width,
               std::int64_t channels) {
  return op.layout == Normalize::Layout::channels_first ? Shape{channels, height, width}
                                                        : Shape{height, width, channels};
}

/// Empty when the parameters fit pictures of that many channels, else the rule and what came.
std::string fault(const Normalize& op, std::int64_t channels) {
  if (op.dtype != DType::float32 && op.dtype != DType::float16 && op.dtype != DType::bfloat16) {
    return "dtype must be float32, float16 or bfloat16, got " + std::string(name_of(op.dtype));
  }
  if (channels < 1 || channels > detail::most_normalized_channels) {
    return "pictures must have 1 to 16 channels, got " + std::to_string(channels);
  }
  const auto count = static_cast<std::int64_t>(op.mean.size());
  if (op.std.size() != op.mean.size() || (count != 1 && count != channels)) {
    return "mean and std must have one value each, or " + std::to_string(channels) +
           " as there are channels, got " + std::to_string(op.mean.size()) + " and " +
           std::to_string(op.std.size());
  }
  for (float deviation : op.std) {
    if (!(deviation > 0)) return "std must be positive, got " + std::to_string(deviation);
  }
  return "";
}

/// Empty when a parameter field holds one such value a picture.
std::string parameter_fault(const std::string& name, DType wanted, const Shape& one, DType dtype,
                            const Shape& shape) {
  if (name.empty() || (dtype == wanted && shape == one)) return "";
  return "field \"" + name + "\" must be " + std::string(name_of(wanted)) + " " + to_string(one) +
         ", got " + std::string(name_of(dtype)) + " " + to_string(shape);
}

/// The parameters of `pictures` pictures, from a sample (1 of no leading dimension) or a batch.
template <class Fields>
std::string take_parameters(const Normalize& op, const Fields& fields, const Shape& one,
                            const Shape& two, detail::NormalizeTask& task) {
  if (!op.flips.empty()) {
    const Tensor& flips = fields[op.flips];
    const std::string rule =
        parameter_fault(op.flips, DType::uint8, one, flips.dtype(), flips.shape());
    if (!rule.empty()) return rule;
    task.flips = flips.template data<std::uint8_t>();
  }
  if (!op.levels.empty()) {
    const Tensor& levels = fields[op.levels];
    const std::string rule =
        parameter_fault(op.levels, DType::float32, two, levels.dtype(), levels.shape());
    if (!rule.empty()) return rule;
    task.levels = levels.template data<float>();
  }
  return "";
}

}  // namespace

Normalize Normalize::imagenet(DType dtype, Layout layout) {
  return {.mean = {0.485F, 0.456F, 0.406F},
          .std = {0.229F, 0.224F, 0.225F},
          .dtype = dtype,
          .layout = layout};
}

Schema Normalize::schema(const Schema& in) const {
  const FieldSpec& image = detail::picture_field(in, field, name());
  const std::string rule = fault(*this, image.shape[2]);
  if (!rule.empty()) throw ConfigError("[normalize] " + rule);
  const auto check_parameter = [&](const std::string& parameter, DType wanted, const Shape& one) {
    if (parameter.empty()) return;
    const FieldSpec& spec = in.at(parameter, name());
    const std::string wrong = parameter_fault(parameter, wanted, one, spec.dtype, spec.shape);
    if (!wrong.empty()) throw ConfigError("[normalize] " + wrong);
  };
  check_parameter(flips, DType::uint8, Shape{});
  check_parameter(levels, DType::float32, Shape{2});
  Schema out = in;
  out.put(FieldSpec::fixed(field, dtype,
                           shape_of(*this, image.shape[0], image.shape[1], image.shape[2])));
  return out;
}

std::size_t Normalize::working_bytes(const Schema& in) const {
  if (flips.empty()) return 0;
  const FieldSpec& image = detail::picture_field(in, field, name());
  return static_cast<std::size_t>(image.shape[1] * image.shape[2]);
}

void Normalize::operator()(Sample& sample) const {
  const Tensor from = sample[field];
  const detail::Picture picture = detail::picture_of(from, field);
  const std::string rule = fault(*this, picture.channels);
  if (!rule.empty()) throw DataError(rule);
  detail::NormalizeTask task = task_for(*this, picture.height, picture.width, picture.channels);
  const std::string wrong = take_parameters(*this, sample, Shape{}, Shape{2}, task);
  if (!wrong.empty()) throw DataError(wrong);
  task.from = picture.data;
  task.to =
      sample.make(field, dtype, shape_of(*this, picture.height, picture.width, picture.channels))
          .raw();
  detail::normalize_on_host(task);
}

void Normalize::operator()(Batch& batch, Stream stream) const {
  const Tensor from = batch[field];
  const Shape& shape = from.shape();
  const std::string rule = from.dtype() == DType::uint8 && shape.rank() == 4
                               ? fault(*this, shape[3])
                               : "field \"" + field +
                                     "\" must be uint8 [rows, height, width, channels], got " +
                                     std::string(name_of(from.dtype())) + " " + to_string(shape);
  if (!rule.empty()) throw PipelineError("[normalize] " + rule);
  detail::NormalizeTask task = task_for(*this, shape[1], shape[2], shape[3]);
  task.pictures = shape[0];
  const std::string wrong =
      take_parameters(*this, batch, Shape{shape[0]}, Shape{shape[0], 2}, task);
  if (!wrong.empty()) throw PipelineError("[normalize] " + wrong);
  task.from = from.data<std::uint8_t>();
  const Shape wanted = shape_of(*this, shape[1], shape[2], shape[3]).batched(shape[0]);
  const Tensor to = batch.make(field, dtype, wanted);
  task.to = to.raw();
  if (from.device().is_cuda()) {
    detail::launch(detail::normalize_kernel, &task, from.device(), stream);
  } else {
    detail::normalize_on_host(task);
  }
}

}  // namespace headrace::inline v1
