#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/learn/class_recipe_torch.h>

namespace headrace::inline v1::app {

std::unique_ptr<training::Recipe> classification_recipe(const JobConfig& config, Device device) {
  const auto known = std::make_shared<const ClassificationConfig>(
      dynamic_cast<const ClassificationConfig&>(config));
  return std::make_unique<ClassRecipe>(known, known->ordinal, device);
}

}  // namespace headrace::inline v1::app
