#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
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

/// Mean recall of the classes that have rows; NaN without rows.
HEADRACE_API double balanced_accuracy(const ConfusionMatrix& matrix);

/// Mean F1 of the classes that are present or were predicted (a class that is neither is left out);
/// NaN without rows.
HEADRACE_API double macro_f1(const ConfusionMatrix& matrix);

/// F1 of the classes weighted by their true rows; NaN without rows.
HEADRACE_API double weighted_f1(const ConfusionMatrix& matrix);

/// Quadratic weighted kappa: 1 - sum w O / sum w E with w = (i - j)^2 / (K - 1)^2. NaN where it is
/// not defined, as when all rows are of one class and were given it.
HEADRACE_API double quadratic_weighted_kappa(const ConfusionMatrix& matrix);

/// Area under the ROC curve by ranks, ties counted one half. `labels` are 0 or 1. NaN if a class is
/// missing or a score is NaN; throws `DataError` for other labels or different lengths.
HEADRACE_API double area_under_roc(std::span<const double> scores,
                                   std::span<const std::uint8_t> labels);

}  // namespace headrace::inline v1::models
