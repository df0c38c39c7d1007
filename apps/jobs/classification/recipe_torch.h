#pragma once

#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/picture_recipe_torch.h>
#include <headrace/engine/tensor/device.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The task classification: one network, or one for each fold.
class ClassificationRecipe final : public PictureRecipe {
 public:
  ClassificationRecipe(std::shared_ptr<const ClassificationConfig> config, Device device);

  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const ClassificationConfig> config_;
  Device device_;
};

}  // namespace headrace::inline v1::app
