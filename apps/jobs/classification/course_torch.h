#pragma once

#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/picture_course_torch.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// One member of the task classification: the whole, or a fold.
class ClassificationCourse final : public PictureCourse {
 public:
  /// `classes` are the names of what is told apart.
  ClassificationCourse(Parts parts, std::vector<std::string> classes);

  /// Input `image` float [N, 3, H, W], target `label` int64 [N] or, mixed, float [N, classes].
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  std::unique_ptr<training::Inference> inference() const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  std::vector<std::string> classes_;
  training::Unpack unpack_;
};

}  // namespace headrace::inline v1::app
