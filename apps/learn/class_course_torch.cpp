#include <headrace/apps/learn/class_course_torch.h>
#include <headrace/apps/task/array_data.h>
#include <headrace/apps/task/thresholds_torch.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/metrics/label_metrics.h>

#include <utility>

namespace headrace::inline v1::app {
training::Unpack unpack_of(const PictureCourse::Parts& parts, const std::string& target,
                           std::int64_t classes) {
  if (parts.record.rank() == 0)
    return training::unpack_images(image_fields(parts, target, classes));
  const ChannelStatistics& by = parts.statistics;
  return training::unpack_arrays({.input = array_field,
                                  .target = target,
                                  .mean = {by.mean.begin(), by.mean.end()},
                                  .stddev = {by.std.begin(), by.std.end()},
                                  .channels_last = parts.config->training.channels_last,
                                  .classes = classes});
}

ClassCourse::ClassCourse(Parts all, const ClassLabels& labels)
    : PictureCourse(std::move(all)),
      labels_(labels),
      unpack_(unpack_of(parts(), labels.several ? std::string() : std::string("label"),
                        labels.classes)) {}

training::Example ClassCourse::example(const Batch& batch, const training::Moment& moment) const {
  training::Example example = unpack_(batch, moment.device);
  if (labels_.several && batch.has("labels"))
    example.targets.emplace(
        "labels",
        as_tensor(batch["labels"]).to(moment.device, /*non_blocking=*/true).to(at::kFloat));
  return example;
}

at::Tensor ClassCourse::scores(const training::Output& output) const {
  const at::Tensor values = output.main.to(at::kFloat);
  return labels_.several ? values.sigmoid() : values.softmax(1);
}

std::unique_ptr<training::Metric> ClassCourse::metric(training::Split split,
                                                      const training::TensorMap& fitted) const {
  const PredictSettings& predict = task().predict;
  const training::TensorMap thresholds =
      thresholds_of(predict, fitted, labels_.several ? labels_.classes : 0);
  const bool fits = has_thresholds(predict, split == training::Split::validation, thresholds);
  if (labels_.several)
    return std::make_unique<training::MultiLabelMetric>(
        training::MultiLabelOptions{.labels = labels_.classes, .fit_thresholds = fits}, thresholds);
  return std::make_unique<training::SingleLabelMetric>(
      training::SingleLabelOptions{
          .classes = labels_.classes, .ordinal = labels_.ordinal, .fit_threshold = fits},
      thresholds);
}

}  // namespace headrace::inline v1::app
