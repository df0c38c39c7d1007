#pragma once

#include <headrace/apps/jobs/picture_recipe_torch.h>
#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/engine/tensor/device.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The task segmentation: one network, or one for each fold.
class SegmentationRecipe final : public PictureRecipe {
 public:
  explicit SegmentationRecipe(std::shared_ptr<const SegmentationConfig> config);

  /// Looks at masks, too; throws DataError for one that the section `mask` does not explain.
  std::uint64_t open() override;
  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  /// The class of each pixel, int64 [N, H, W]; of several masks the most probable of those there.
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const SegmentationConfig> config_;
};

}  // namespace headrace::inline v1::app
