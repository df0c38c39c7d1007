#include <headrace/apps/jobs/segmentation/recipe_torch.h>
#include <headrace/apps/learn/volume_recipe_torch.h>
#include <headrace/apps/task/thresholds_torch.h>
#include <headrace/training/evaluation/vote.h>
#include <headrace/training/metrics/segmentation_metric.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ops/argmax.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::app {

bool are_sigmoids(const SegmentationConfig& config) {
  return std::any_of(config.task.loss.begin(), config.task.loss.end(), is_binary);
}

SegmentationCourse::SegmentationCourse(Parts all, std::vector<std::string> classes)
    : PictureCourse(std::move(all)),
      classes_(std::move(classes)),
      sigmoids_(are_sigmoids(config())),
      unpack_(image_fields(parts(), "", 0),
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

SegmentationRecipe::SegmentationRecipe(std::shared_ptr<const SegmentationConfig> config)
    : PictureRecipe(config, mask_feed(config->mask)), config_(std::move(config)) {}

std::vector<std::string> SegmentationRecipe::class_names() const {
  return app::class_names(config_->mask);
}

std::unique_ptr<training::Course> SegmentationRecipe::begin(const training::Member& member) const {
  PictureCourse::Parts all = parts(member);
  const auto count = static_cast<std::int64_t>(classes().size());
  const bool sigmoids = are_sigmoids(*config_);
  all.outputs = sigmoids ? count - 1 : count;
  all.loss = {.sigmoid = sigmoids, .ignore = ignored_label};
  return std::make_unique<SegmentationCourse>(std::move(all), classes());
}

at::Tensor SegmentationRecipe::predicted(const at::Tensor& scores,
                                         std::span<const training::TensorMap> fitted) const {
  if (!are_sigmoids(*config_)) return at::argmax(scores, 1);
  const at::Tensor there = training::decided_masks(
      scores, thresholds_of(config_->task.predict, training::mean_of(fitted), scores.size(1)));
  const at::Tensor best = at::argmax(at::where(there, scores, -1.0), 1);
  return at::where(there.any(1), best + 1, 0);
}

std::unique_ptr<training::Recipe> segmentation_recipe(const JobConfig& config, Device device) {
  auto own =
      std::make_shared<const SegmentationConfig>(dynamic_cast<const SegmentationConfig&>(config));
  if (own->volumes()) return std::make_unique<VolumeRecipe>(std::move(own), device);
  return std::make_unique<SegmentationRecipe>(std::move(own));
}

}  // namespace headrace::inline v1::app
