#include <headrace/apps/jobs/classification/course_torch.h>
#include <headrace/apps/jobs/classification/recipe_torch.h>
#include <headrace/apps/jobs/device_torch.h>
#include <headrace/training/classification_figures.h>

#include <utility>

#include <ATen/ops/tensor.h>

namespace headrace::inline v1::app {
namespace {

std::shared_ptr<const ClassificationConfig> copy_of(const ClassificationConfig& config) {
  return std::make_shared<const ClassificationConfig>(config);
}

}  // namespace

ClassificationRecipe::ClassificationRecipe(std::shared_ptr<const ClassificationConfig> config,
                                           Device device)
    : PictureRecipe(config, config->task, false), config_(std::move(config)), device_(device) {}

std::vector<std::string> ClassificationRecipe::class_names() const {
  return records().train->classes();
}

std::unique_ptr<training::Course> ClassificationRecipe::begin(
    const training::Member& member) const {
  PictureCourse::Parts all = parts(member);
  if (!member.train.empty()) {
    const std::vector<double> weights = class_weights(
        config_->task.imbalance.weights, count_classes(*records().train, member.train));
    if (!weights.empty())
      all.loss.class_weights = at::tensor(weights, at::kFloat).to(torch_device(device_));
  }
  return std::make_unique<ClassificationCourse>(std::move(all), classes());
}

std::unique_ptr<training::Recipe> classification_recipe(const JobConfig& config, Device device) {
  return std::make_unique<ClassificationRecipe>(
      copy_of(dynamic_cast<const ClassificationConfig&>(config)), device);
}

}  // namespace headrace::inline v1::app
