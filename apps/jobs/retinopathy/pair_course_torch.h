#pragma once

#include <headrace/apps/learn/class_course_torch.h>
#include <headrace/models/metrics/one_vs_one.h>

#include <memory>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The network of one pair of classes. It learns from records of the two alone, and is validated on
/// such; where it looks at others, as at a whole test, they do not count, and have scores.
class PairCourse final : public PictureCourse {
 public:
  /// `classes` are the names of all of them. `sees_others`: records of other classes are among
  /// those of the test; which rows of a batch count is then asked of the device.
  PairCourse(Parts parts, const models::ClassPair& pair, const std::vector<std::string>& classes,
             bool sees_others);

  /// Input as a ClassCourse has it. Targets `label` float [N, 1], 1 for the second class of the
  /// pair, 0 for the first and -1 for others; and of an evaluation `grade` int64 [N], the class
  /// among all.
  training::Example example(const Batch& batch, const training::Moment& moment) const override;
  /// Probabilities of the first and the second, [N, 2].
  at::Tensor scores(const training::Output& output) const override;
  /// Those of the two.
  std::vector<std::string> class_names() const override { return names_; }
  std::unique_ptr<training::Metric> metric(training::Split split,
                                           const training::TensorMap& fitted) const override;

 private:
  models::ClassPair pair_;
  std::vector<std::string> names_;
  bool sees_others_;
  training::Unpack unpack_;
};

}  // namespace headrace::inline v1::app
