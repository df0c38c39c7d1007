#pragma once

#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/picture_course_torch.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::app {

/// One member of the task classification: the whole, or a fold.
class ClassificationCourse final : public PictureCourse {
 public:
  ClassificationCourse(Parts parts, std::int64_t classes, bool multi_label);

  /// Input `image` float [N, 3, H, W], or `array` float [N, values] or [N, C, bins, frames]; target
  /// `label` int64 [N] or, mixed, float [N, classes], or of several labels `labels` float [N,
  /// classes].
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  at::Tensor scores(const training::Output& output) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  const ClassificationConfig& config() const {
    return dynamic_cast<const ClassificationConfig&>(*parts().config);
  }

  std::int64_t classes_;
  bool multi_label_;
  training::Unpack unpack_;
};

}  // namespace headrace::inline v1::app
