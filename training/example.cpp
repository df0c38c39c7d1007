#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/example.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/tensor.h>

namespace headrace::inline v1::training {

namespace {

constexpr std::string_view partner = "_partner";
constexpr const char* share_field = "lambda";

// One value a channel, on the device that was asked for last.
class PerChannel {
 public:
  explicit PerChannel(const std::vector<double>& values) {
    if (!values.empty()) values_ = at::tensor(values, at::kFloat);
  }

  bool empty() const { return !values_.defined(); }
  /// For inputs [N, channels, ...] of so many axes.
  at::Tensor on(at::Device device, std::int64_t axes) {
    if (values_.device() != device) values_ = values_.to(device);
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(axes), 1);
    sizes[1] = values_.size(0);
    return values_.view(sizes);
  }

 private:
  at::Tensor values_;
};

struct Statistics {
  PerChannel mean;
  PerChannel stddev;
};

// In place.
void normalise(at::Tensor& input, Statistics& statistics) {
  if (!statistics.mean.empty()) input.sub_(statistics.mean.on(input.device(), input.dim()));
  if (!statistics.stddev.empty()) input.div_(statistics.stddev.on(input.device(), input.dim()));
}

at::Tensor image_input(at::Tensor input, const ImageFields& fields, Statistics& statistics) {
  if (fields.rows_are_hwc) input = input.permute({0, 3, 1, 2});
  const bool integers = !input.is_floating_point();
  // A copy of floats: the batch's memory is not written to.
  if (integers || fields.of_floats)
    input = input.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  if (integers) input.div_(255.0);
  if (integers || fields.of_floats) normalise(input, statistics);
  return input.contiguous(fields.channels_last ? at::MemoryFormat::ChannelsLast
                                               : at::MemoryFormat::Contiguous);
}

// Several classes in a row would silently become the first of them. Only where to look is free.
void require_one_hot(const at::Tensor& target, const at::Tensor& present, const std::string& name) {
  if (!target.device().is_cpu()) return;
  at::Tensor wrong = (target.sum(1) != 1).logical_or((target < 0).any(1));
  if (present.defined()) wrong = wrong.logical_and(present);
  if (!wrong.any().item<bool>()) return;
  throw DataError("[example] integer rows of field \"" + name +
                  "\" must have one 1 and else 0, row " +
                  std::to_string(at::argmax(wrong.to(at::kByte)).item<std::int64_t>()) +
                  " of the batch has not; give several classes as float32 rows");
}

at::Tensor labels(const at::Tensor& target, const at::Tensor& present, const std::string& name) {
  if (target.dim() == 2 && target.size(1) > 1) {
    if (target.is_floating_point()) return target;
    require_one_hot(target, present, name);
    return at::argmax(target, 1);
  }
  if (target.is_floating_point() || target.dim() > 2)
    throw ConfigError("[example] field \"" + name +
                      "\" must hold class indices of integers [N], or a value for each class "
                      "[N, classes], got " +
                      std::string(c10::toString(target.scalar_type())) + " with " +
                      std::to_string(target.dim()) + " axes");
  return target.to(at::kLong).flatten();
}

struct TargetField {
  const std::string& name;
  std::int64_t classes;
};

at::Tensor shared_labels(const at::Tensor& own, const at::Tensor& other, const at::Tensor& lambda,
                         const TargetField& field) {
  if (field.classes < 2)
    throw ConfigError("[example] field \"" + field.name +
                      "\" was mixed with its partner's and the number of classes must be known, "
                      "got " +
                      std::to_string(field.classes) + "; set ImageFields::classes");
  // Not one_hot: it reads the largest label.
  const at::Tensor classes = at::arange(field.classes, own.options().dtype(at::kLong));
  const auto rows = [&](const at::Tensor& target) {
    return (target.to(at::kLong).flatten().unsqueeze(1) == classes).to(at::kFloat);
  };
  const at::Tensor factor = lambda.to(at::kFloat).flatten().unsqueeze(1);
  return rows(own) * factor + rows(other) * (1.0 - factor);
}

void require_pairs(const char* who, const std::vector<double>& mean,
                   const std::vector<double>& stddev) {
  if (mean.empty() || stddev.empty() || mean.size() == stddev.size()) return;
  throw ConfigError(std::string("[") + who +
                    "] mean and stddev need a value for each channel, got " +
                    std::to_string(mean.size()) + " and " + std::to_string(stddev.size()));
}

// The rows that count and their targets, beside the input.
Example with_target(const Batch& batch, at::Device device, Example example,
                    const TargetField& target) {
  const auto field = [&](const std::string& name) {
    return as_tensor(batch[name]).to(device, /*non_blocking=*/true);
  };
  example.rows = batch.valid_rows();
  example.present = present_rows(batch, device);
  if (!batch.has(target.name)) return example;
  const std::string other = target.name + std::string(partner);
  example.mixed = batch.has(other);
  const at::Tensor own = field(target.name);
  example.targets.emplace(
      target.name, example.mixed ? shared_labels(own, field(other), field(share_field), target)
                                 : labels(own, example.present, target.name));
  return example;
}

bool is_target(std::string_view name) {
  constexpr std::array<std::string_view, 7> known{"label",  "labels",  "mask",     "masks",
                                                  "target", "targets", share_field};
  return std::ranges::find(known, name) != known.end() || name.ends_with(partner);
}

}  // namespace

const at::Tensor& only(const TensorMap& tensors, const char* what) {
  if (tensors.size() == 1) return tensors.begin()->second;
  std::string names;
  for (const auto& [name, tensor] : tensors)
    names += (names.empty() ? "" : ", ") + name;
  throw ConfigError(std::string("[example] there must be one ") + what + ", got " +
                    (names.empty() ? "none" : names));
}

std::int64_t counted_rows(const Example& example) {
  if (example.rows) return *example.rows;
  if (example.present.defined()) return example.present.sum().item<std::int64_t>();
  for (const TensorMap* map : {&example.targets, &example.inputs})
    if (!map->empty()) return map->begin()->second.size(0);
  return 0;
}

at::Tensor present_rows(const Batch& batch, at::Device device) {
  if (!batch.has("valid") || batch.valid_rows() == batch.size()) return {};
  const at::Tensor valid = as_tensor(batch["valid"]);
  return valid.to(device, /*non_blocking=*/!device.is_cpu()).to(at::kBool);
}

std::vector<std::int64_t> unread_rows(const Batch& batch) {
  std::vector<std::int64_t> rows;
  const at::Tensor present = present_rows(batch, at::kCPU);
  if (!present.defined()) return rows;
  const std::vector<Origin> origins = batch.origins();
  for (std::int64_t row = 0; row < batch.size(); ++row)
    if (origins[static_cast<std::size_t>(row)].position >= 0 && !present[row].item<bool>())
      rows.push_back(row);
  return rows;
}

Example example_of_fields(const Batch& batch, at::Device device) {
  Example example{.present = present_rows(batch, device), .rows = batch.valid_rows()};
  for (const std::string& name : batch.names()) {
    if (name == "valid") continue;
    const at::Tensor tensor = as_tensor(batch[name]).to(device, /*non_blocking=*/true);
    (is_target(name) ? example.targets : example.inputs).emplace(name, tensor);
  }
  example.mixed = example.targets.contains(share_field);
  return example;
}

Unpack unpack_images(ImageFields fields) {
  require_pairs("unpack_images", fields.mean, fields.stddev);
  Statistics statistics{.mean = PerChannel(fields.mean), .stddev = PerChannel(fields.stddev)};
  return [fields = std::move(fields), statistics = std::move(statistics)](
             const Batch& batch, at::Device device) mutable {
    const at::Tensor raw = as_tensor(batch[fields.input]).to(device, /*non_blocking=*/true);
    return with_target(batch, device,
                       {.inputs = {{fields.input, image_input(raw, fields, statistics)}}},
                       {.name = fields.target, .classes = fields.classes});
  };
}

Unpack unpack_arrays(ArrayFields fields) {
  require_pairs("unpack_arrays", fields.mean, fields.stddev);
  Statistics statistics{.mean = PerChannel(fields.mean), .stddev = PerChannel(fields.stddev)};
  return [fields = std::move(fields), statistics = std::move(statistics)](
             const Batch& batch, at::Device device) mutable {
    const at::Tensor raw = as_tensor(batch[fields.input]).to(device, /*non_blocking=*/true);
    // A copy where it is float already: the batch's memory is not written to.
    at::Tensor input = raw.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    if (input.dim() == 3) input = input.unsqueeze(1);
    normalise(input, statistics);
    if (fields.channels_last && input.dim() == 4)
      input = input.contiguous(at::MemoryFormat::ChannelsLast);
    return with_target(batch, device, {.inputs = {{fields.input, input}}},
                       {.name = fields.target, .classes = fields.classes});
  };
}

at::Tensor hard_labels(const at::Tensor& target) {
  return target.dim() == 2 ? at::argmax(target, 1) : target;
}

}  // namespace headrace::inline v1::training
