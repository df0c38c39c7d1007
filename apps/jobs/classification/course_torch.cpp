#include <headrace/apps/jobs/classification/course_torch.h>
#include <headrace/engine/torch/as_tensor.h>
#include <headrace/training/multi_label_metric.h>
#include <headrace/training/single_label_metric.h>

#include <utility>
#include <variant>

#include <ATen/ops/scalar_tensor.h>

namespace headrace::inline v1::app {
namespace {

bool fits(const PredictSettings& predict) {
  return std::holds_alternative<FittedThreshold>(predict.threshold);
}

// A threshold that the configuration gives is as one that a validation has fitted.
training::TensorMap given(const PredictSettings& predict, const training::TensorMap& fitted) {
  const auto* at = std::get_if<GivenThreshold>(&predict.threshold);
  return at == nullptr
             ? fitted
             : training::TensorMap{{"threshold", at::scalar_tensor(at->value, at::kDouble)}};
}

}  // namespace

ClassificationCourse::ClassificationCourse(Parts all, std::int64_t classes, bool multi_label)
    : PictureCourse(std::move(all)),
      classes_(classes),
      multi_label_(multi_label),
      unpack_(training::unpack_images({.target = multi_label ? std::string() : std::string("label"),
                                       .rows_are_hwc = parts().config->training.channels_last,
                                       .channels_last = parts().config->training.channels_last,
                                       .classes = classes})) {}

training::Example ClassificationCourse::example(const Batch& batch,
                                                const training::Moment& moment) const {
  training::Example example = unpack_(batch, moment.device);
  if (multi_label_ && batch.has("labels"))
    example.targets.emplace(
        "labels",
        as_tensor(batch["labels"]).to(moment.device, /*non_blocking=*/true).to(at::kFloat));
  return example;
}

at::Tensor ClassificationCourse::scores(const training::Output& output) const {
  const at::Tensor values = output.main.to(at::kFloat);
  return multi_label_ ? values.sigmoid() : values.softmax(1);
}

std::unique_ptr<training::Metric> ClassificationCourse::metric(
    training::Split, const training::TensorMap& fitted) const {
  const PredictSettings& predict = task().predict;
  const bool threshold = !std::holds_alternative<PlainThreshold>(predict.threshold);
  if (multi_label_)
    return std::make_unique<training::MultiLabelMetric>(
        training::MultiLabelOptions{.labels = classes_, .fit_thresholds = fits(predict)}, fitted);
  return std::make_unique<training::SingleLabelMetric>(
      training::SingleLabelOptions{
          .classes = classes_, .ordinal = config().ordinal, .fit_threshold = threshold},
      given(predict, fitted));
}

}  // namespace headrace::inline v1::app
