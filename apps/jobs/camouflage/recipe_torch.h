#pragma once

#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/learn/mask_example_torch.h>
#include <headrace/apps/learn/picture_course_torch.h>
#include <headrace/apps/learn/picture_recipe_torch.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// One member of the job camouflage: the whole, or a fold. One mask, by a sigmoid.
class CamouflageCourse final : public PictureCourse {
 public:
  explicit CamouflageCourse(Parts parts);

  /// Input `image` float [N, 3, H, W]; target `mask` float [N, 1, H, W], 1 where the object is.
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  /// Probabilities [N, 1, H, W].
  at::Tensor scores(const training::Output& output) const override;
  /// Of the test all published measures in the masks' own sizes (`measures_torch.h`), of a
  /// validation and of training the quick ones (QuickMaskMetric); of a validation all of
  /// them, too, where one of them selects.
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;
  training::Selection selected_by() const override;

 private:
  UnpackMasks unpack_;
};

/// From which score on a pixel is of the object.
double threshold_of(const PredictSettings& predict);

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
