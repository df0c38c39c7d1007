#pragma once

#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/picture_recipe_torch.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Objects that hide: one network of one mask, or one for each fold.
class CamouflageRecipe final : public PictureRecipe {
 public:
  explicit CamouflageRecipe(std::shared_ptr<const CamouflageConfig> config);

  /// Looks at masks, too; throws what `require_objects` throws.
  std::uint64_t open() override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  /// 1 where the object is, int64 [N, H, W].
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  TaskRecords listed() const override;
  std::vector<std::int64_t> judged(const LabelledSource& test,
                                   std::vector<std::int64_t> rows) const override;
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const CamouflageConfig> config_;
};

}  // namespace headrace::inline v1::app
