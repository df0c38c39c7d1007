#include <headrace/apps/jobs/segmentation/course_torch.h>
#include <headrace/apps/task/thresholds_torch.h>
#include <headrace/training/binary_segmentation_metric.h>
#include <headrace/training/segmentation_metric.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace headrace::inline v1::app {

bool are_sigmoids(const SegmentationConfig& config) {
  return std::any_of(config.task.loss.begin(), config.task.loss.end(), is_binary);
}

SegmentationCourse::SegmentationCourse(Parts all, std::vector<std::string> classes)
    : PictureCourse(std::move(all)),
      classes_(std::move(classes)),
      sigmoids_(are_sigmoids(config())),
      unpack_(parts().config->training.channels_last,
              sigmoids_ ? std::optional(parts().outputs) : std::nullopt) {}

training::Example SegmentationCourse::example(const Batch& batch,
                                              const training::Moment& moment) const {
  return unpack_(batch, moment.device);
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
