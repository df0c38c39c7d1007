#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/example.h>

#include <utility>

namespace headrace::inline v1::training {

namespace {

// One value a channel, on the device that was asked for last.
class PerChannel {
 public:
  explicit PerChannel(const std::vector<double>& values) {
    if (values.empty()) return;
    values_ =
        at::tensor(values, at::kFloat).view({1, static_cast<std::int64_t>(values.size()), 1, 1});
  }

  bool empty() const { return !values_.defined(); }
  const at::Tensor& on(at::Device device) {
    if (values_.device() != device) values_ = values_.to(device);
    return values_;
  }

 private:
  at::Tensor values_;
};

struct Statistics {
  PerChannel mean;
  PerChannel stddev;
};

at::Tensor image_input(at::Tensor input, const ImageFields& fields, Statistics& statistics) {
  if (fields.rows_are_hwc) input = input.permute({0, 3, 1, 2});
  if (!input.is_floating_point()) {
    input = input.to(at::kFloat).div_(255.0);
    if (!statistics.mean.empty()) input.sub_(statistics.mean.on(input.device()));
    if (!statistics.stddev.empty()) input.div_(statistics.stddev.on(input.device()));
  }
  return input.contiguous(fields.channels_last ? at::MemoryFormat::ChannelsLast
                                               : at::MemoryFormat::Contiguous);
}

at::Tensor class_indices(const at::Tensor& target) {
  if (target.dim() == 2 && target.size(1) > 1) return at::argmax(target, 1);
  return target.to(at::kLong).flatten();
}

}  // namespace

std::int64_t counted_rows(const Example& example) {
  if (!example.present.defined()) return example.target.size(0);
  return example.rows ? *example.rows : example.present.sum().item<std::int64_t>();
}

Unpack unpack_images(ImageFields fields) {
  if (!fields.mean.empty() && !fields.stddev.empty() && fields.mean.size() != fields.stddev.size())
    throw ConfigError("[unpack_images] mean and stddev need a value for each channel, got " +
                      std::to_string(fields.mean.size()) + " and " +
                      std::to_string(fields.stddev.size()));
  Statistics statistics{.mean = PerChannel(fields.mean), .stddev = PerChannel(fields.stddev)};
  return [fields = std::move(fields), statistics = std::move(statistics)](
             const Batch& batch, at::Device device) mutable {
    const auto field = [&](const std::string& name) {
      return as_tensor(batch[name]).to(device, /*non_blocking=*/true);
    };
    Example example{.input = image_input(field(fields.input), fields, statistics),
                    .target = class_indices(field(fields.target)),
                    .rows = batch.valid_rows()};
    if (batch.has("valid")) example.present = field("valid").to(at::kBool);
    return example;
  };
}

}  // namespace headrace::inline v1::training
