#pragma once

#include <headrace/apps/jobs/camouflage/recipe_torch.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/training/recipe.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::test {

/// Small pictures of animals that hide and the recipe of the job over them, ready to train in two
/// stages: the second has smaller batches and unfreezes the backbone in two changes. The lean
/// network, unless the settings say otherwise.
class AnimalsRecipe {
 public:
  explicit AnimalsRecipe(const std::vector<std::string>& settings = {}, int count = 24);

  std::shared_ptr<const app::CamouflageConfig> config() const { return config_; }
  const app::CamouflageRecipe& recipe() const { return *recipe_; }
  training::Member member() const { return recipe_->members().front(); }
  std::unique_ptr<training::Course> course() const { return recipe_->begin(member()); }

 private:
  TemporaryFolder folder_;
  std::shared_ptr<const app::CamouflageConfig> config_;
  std::unique_ptr<app::CamouflageRecipe> recipe_;
};

/// The settings of the network in the original's shape, small.
std::vector<std::string> compatible_network();

}  // namespace headrace::test
