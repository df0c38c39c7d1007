#include <headrace/apps/learn/mask_example_torch.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/apps/task/pipelines.h>
#include <headrace/engine/torch/as_tensor.h>

#include <utility>

#include <ATen/ops/arange.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {
namespace {

// A mask of each class but the background, with the pixels that count nowhere in all of them.
at::Tensor masks_of(const at::Tensor& labels, std::int64_t outputs) {
  const at::Tensor classes = at::arange(1, outputs + 1, labels.options()).view({1, outputs, 1, 1});
  const at::Tensor one = labels.unsqueeze(1);
  const at::Tensor masks = (one == classes).to(at::kFloat);
  return at::where(one == ignored_label, static_cast<float>(ignored_label), masks);
}

}  // namespace

UnpackMasks::UnpackMasks(training::ImageFields fields, std::optional<std::int64_t> masks)
    : masks_(masks) {
  fields.target.clear();
  unpack_ = training::unpack_images(std::move(fields));
}

training::Example UnpackMasks::operator()(const Batch& batch, at::Device device) const {
  training::Example example = unpack_(batch, device);
  if (batch.has(PictureSize::field)) example.picture_sizes = as_tensor(batch[PictureSize::field]);
  if (!batch.has("mask")) return example;
  const at::Tensor labels =
      as_tensor(batch["mask"]).to(device, /*non_blocking=*/true).to(at::kLong);
  example.targets.emplace("mask", masks_ ? masks_of(labels, *masks_) : labels);
  return example;
}

}  // namespace headrace::inline v1::app
