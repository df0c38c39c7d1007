#pragma once

#include <headrace/apps/learn/picture_course_torch.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::app {

/// What records are told apart by.
struct ClassLabels {
  std::int64_t classes = 2;
  bool several = false;  ///< a record may have any number of them, else it has one
  bool ordinal = false;  ///< they are steps of a scale
};

/// One member of a recipe that learns classes: the whole, or a fold.
class ClassCourse final : public PictureCourse {
 public:
  ClassCourse(Parts parts, const ClassLabels& labels);

  /// Input `image` float [N, 3, H, W], or `array` float [N, values] or [N, C, bins, frames]; target
  /// `label` int64 [N] or, mixed, float [N, classes], or of several labels `labels` float [N,
  /// classes].
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  at::Tensor scores(const training::Output& output) const override;
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  ClassLabels labels_;
  training::Unpack unpack_;
};

/// How batches of pictures or arrays become examples with the target `target`, or with none where
/// that is empty.
training::Unpack unpack_of(const PictureCourse::Parts& parts, const std::string& target,
                           std::int64_t classes);

}  // namespace headrace::inline v1::app
