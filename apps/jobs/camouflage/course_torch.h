#pragma once

#include <headrace/apps/jobs/camouflage/config.h>
#include <headrace/apps/jobs/mask_example_torch.h>
#include <headrace/apps/jobs/picture_course_torch.h>

#include <memory>
#include <string>

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
  /// validation and of training the quick ones (`quick_metric_torch.h`); of a validation all of
  /// them, too, where one of them selects.
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;
  training::Selection selected_by() const override;

 private:
  UnpackMasks unpack_;
};

/// From which score on a pixel is of the object.
double threshold_of(const PredictSettings& predict);

}  // namespace headrace::inline v1::app
