#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/example.h>

#include <utility>

namespace headrace::inline v1::training {

namespace {

at::Tensor per_channel(const std::vector<double>& values, const at::Tensor& like) {
  return at::tensor(values, at::kFloat)
      .to(like.device())
      .view({1, static_cast<std::int64_t>(values.size()), 1, 1});
}

at::Tensor image_input(at::Tensor input, const ImageFields& fields) {
  if (fields.rows_are_hwc) input = input.permute({0, 3, 1, 2});
  if (!input.is_floating_point()) {
    input = input.to(at::kFloat).div_(255.0);
    if (!fields.mean.empty()) input.sub_(per_channel(fields.mean, input));
    if (!fields.stddev.empty()) input.div_(per_channel(fields.stddev, input));
  }
  return input.contiguous(fields.channels_last ? at::MemoryFormat::ChannelsLast
                                               : at::MemoryFormat::Contiguous);
}

at::Tensor class_indices(const at::Tensor& target) {
  if (target.dim() == 2 && target.size(1) > 1) return at::argmax(target, 1);
  return target.to(at::kLong).flatten();
}

}  // namespace

Unpack unpack_images(ImageFields fields) {
  if (!fields.mean.empty() && !fields.stddev.empty() && fields.mean.size() != fields.stddev.size())
    throw ConfigError("[unpack_images] mean and stddev need a value for each channel, got " +
                      std::to_string(fields.mean.size()) + " and " +
                      std::to_string(fields.stddev.size()));
  return [fields = std::move(fields)](const Batch& batch, at::Device device) {
    const auto field = [&](const std::string& name) {
      return as_tensor(batch[name]).to(device, /*non_blocking=*/true);
    };
    Example example{.input = image_input(field(fields.input), fields),
                    .target = class_indices(field(fields.target))};
    if (batch.has("valid")) example.present = field("valid").to(at::kBool);
    return example;
  };
}

}  // namespace headrace::inline v1::training
