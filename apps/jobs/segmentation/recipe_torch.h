#pragma once

#include <headrace/apps/jobs/segmentation/config.h>
#include <headrace/apps/learn/mask_example_torch.h>
#include <headrace/apps/learn/picture_course_torch.h>
#include <headrace/apps/learn/picture_recipe_torch.h>
#include <headrace/engine/tensor/device.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Whether scores are of masks by themselves (bce), and not of one softmax over all classes.
bool are_sigmoids(const SegmentationConfig& config);

/// One member of the task segmentation: the whole, or a fold.
class SegmentationCourse final : public PictureCourse {
 public:
  /// `classes` are the names, the background first.
  SegmentationCourse(Parts parts, std::vector<std::string> classes);

  /// Input `image` float [N, 3, H, W]; target `mask` int64 [N, H, W], the class of each pixel, or
  /// of sigmoids float [N, classes - 1, H, W] without the background.
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  /// Probabilities [N, outputs, H, W].
  at::Tensor scores(const training::Output& output) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  const SegmentationConfig& config() const {
    return dynamic_cast<const SegmentationConfig&>(*parts().config);
  }

  std::vector<std::string> classes_;
  bool sigmoids_;
  UnpackMasks unpack_;
};

/// The task segmentation: one network, or one for each fold.
class SegmentationRecipe final : public PictureRecipe {
 public:
  explicit SegmentationRecipe(std::shared_ptr<const SegmentationConfig> config);

  std::unique_ptr<training::Course> begin(const training::Member& member) const override;
  /// The class of each pixel, int64 [N, H, W]; of several masks the most probable of those there.
  at::Tensor predicted(const at::Tensor& scores,
                       std::span<const training::TensorMap> fitted) const override;

 private:
  std::vector<std::string> class_names() const override;

  std::shared_ptr<const SegmentationConfig> config_;
};

}  // namespace headrace::inline v1::app
