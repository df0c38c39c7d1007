#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::models {

/// Counts of (true class, predicted class): every classification metric comes from these sums, so
/// batches of different sizes weigh by their rows.
class HEADRACE_API ConfusionMatrix {
 public:
  /// Throws `ConfigError` for fewer than two classes.
  explicit ConfusionMatrix(std::int64_t classes);

  /// From `classes * classes` counts, a row for each true class. Throws `ConfigError` for another
  /// number of counts or a negative one.
  ConfusionMatrix(std::int64_t classes, std::vector<std::int64_t> counts);

  std::int64_t classes() const { return classes_; }
  std::int64_t total() const;
  std::int64_t at(std::int64_t truth, std::int64_t predicted) const;

  /// One more row. Throws `DataError` for a class outside [0, classes).
  void add(std::int64_t truth, std::int64_t predicted);

  /// Adds another matrix of the same number of classes.
  void add(const ConfusionMatrix& other);

  /// Rows with this true class, and rows given this class.
  std::int64_t support(std::int64_t truth) const;
  std::int64_t predicted(std::int64_t predicted) const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

/// Share of rows on the diagonal; NaN without rows.
HEADRACE_API double accuracy(const ConfusionMatrix& matrix);

/// Of one class, in [0, 1]: right of what was predicted, right of what is there, twice the right of
/// both together (also called Dice), and the right of what is either (Jaccard). What divides by
/// zero is 0, as in scikit-learn; NaN for a class that is neither there nor predicted.
HEADRACE_API double precision(const ConfusionMatrix& matrix, std::int64_t k);
HEADRACE_API double recall(const ConfusionMatrix& matrix, std::int64_t k);
HEADRACE_API double f1(const ConfusionMatrix& matrix, std::int64_t k);
HEADRACE_API double iou(const ConfusionMatrix& matrix, std::int64_t k);

/// Mean recall of the classes that have rows; NaN without rows.
HEADRACE_API double balanced_accuracy(const ConfusionMatrix& matrix);

/// Mean F1 of the classes from `first` on that are present or were predicted (a class that is
/// neither is left out); NaN if there is none. Of pixels this is the mean Dice.
HEADRACE_API double macro_f1(const ConfusionMatrix& matrix, std::int64_t first = 0);

/// Mean IoU of such classes.
HEADRACE_API double mean_iou(const ConfusionMatrix& matrix, std::int64_t first = 0);

/// F1 of the classes weighted by their true rows; NaN without rows.
HEADRACE_API double weighted_f1(const ConfusionMatrix& matrix);

/// Quadratic weighted kappa: 1 - sum w O / sum w E with w = (i - j)^2 / (K - 1)^2. NaN where it is
/// not defined, as when all rows are of one class and were given it.
HEADRACE_API double quadratic_weighted_kappa(const ConfusionMatrix& matrix);

}  // namespace headrace::inline v1::models
