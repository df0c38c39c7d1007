#include <headrace/apps/jobs/segmentation/course_torch.h>
#include <headrace/apps/task/picture_size.h>
#include <headrace/apps/task/thresholds_torch.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/binary_segmentation_metric.h>
#include <headrace/training/segmentation_metric.h>

#include <algorithm>
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

bool are_sigmoids(const SegmentationConfig& config) {
  return std::any_of(config.task.loss.begin(), config.task.loss.end(), is_binary);
}

SegmentationCourse::SegmentationCourse(Parts all, std::vector<std::string> classes)
    : PictureCourse(std::move(all)),
      classes_(std::move(classes)),
      sigmoids_(are_sigmoids(config())),
      unpack_(training::unpack_images({.target = {},
                                       .rows_are_hwc = parts().config->training.channels_last,
                                       .channels_last = parts().config->training.channels_last})) {}

training::Example SegmentationCourse::example(const Batch& batch,
                                              const training::Moment& moment) const {
  training::Example example = unpack_(batch, moment.device);
  if (batch.has(PictureSize::field)) example.picture_sizes = as_tensor(batch[PictureSize::field]);
  if (!batch.has("mask")) return example;
  const at::Tensor labels =
      as_tensor(batch["mask"]).to(moment.device, /*non_blocking=*/true).to(at::kLong);
  example.targets.emplace("mask", sigmoids_ ? masks_of(labels, parts().outputs) : labels);
  return example;
}

at::Tensor SegmentationCourse::scores(const training::Output& output) const {
  const at::Tensor values = output.main.to(at::kFloat);
  return sigmoids_ ? values.sigmoid() : values.softmax(1);
}

std::unique_ptr<training::Metric> SegmentationCourse::metric(
    training::Split split, const training::TensorMap& fitted) const {
  if (!sigmoids_)
    return std::make_unique<training::SegmentationMetric>(
        training::SegmentationOptions{.classes = classes_, .ignore = ignored_label});
  const PredictSettings& predict = task().predict;
  const training::TensorMap thresholds = thresholds_of(predict, fitted, parts().outputs);
  return std::make_unique<training::BinarySegmentationMetric>(
      training::BinarySegmentationOptions{
          .masks = {classes_.begin() + 1, classes_.end()},
          .ignore = ignored_label,
          .fit_thresholds =
              has_thresholds(predict, split == training::Split::validation, thresholds)},
      thresholds);
}

}  // namespace headrace::inline v1::app
