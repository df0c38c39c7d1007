#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/confusion_matrix.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace headrace::inline v1::models {

namespace {

constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool is_seen(const ConfusionMatrix& matrix, std::int64_t k) {
  return matrix.support(k) + matrix.predicted(k) > 0;
}

// Of a class that is seen, else not defined.
double share(const ConfusionMatrix& matrix, std::int64_t k, std::int64_t part, std::int64_t whole) {
  if (!is_seen(matrix, k)) return not_defined;
  return whole == 0 ? 0.0 : ratio(part, whole);
}

double mean_of_seen(const ConfusionMatrix& matrix, std::int64_t first,
                    double (*value)(const ConfusionMatrix&, std::int64_t)) {
  double sum = 0.0;
  int seen = 0;
  for (std::int64_t k = first; k < matrix.classes(); ++k) {
    if (!is_seen(matrix, k)) continue;
    sum += value(matrix, k);
    ++seen;
  }
  return seen == 0 ? not_defined : sum / seen;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t classes) : classes_(classes) {
  if (classes < 2)
    throw ConfigError("[ConfusionMatrix] needs at least 2 classes, got " + std::to_string(classes));
  counts_.assign(static_cast<std::size_t>(classes * classes), 0);
}

ConfusionMatrix::ConfusionMatrix(std::int64_t classes, std::vector<std::int64_t> counts)
    : ConfusionMatrix(classes) {
  if (counts.size() != counts_.size())
    throw ConfigError("[ConfusionMatrix] " + std::to_string(classes) + " classes need " +
                      std::to_string(counts_.size()) + " counts, got " +
                      std::to_string(counts.size()));
  if (std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; }))
    throw ConfigError("[ConfusionMatrix] counts must not be negative");
  counts_ = std::move(counts);
}

std::int64_t ConfusionMatrix::total() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::int64_t ConfusionMatrix::at(std::int64_t truth, std::int64_t predicted) const {
  return counts_[static_cast<std::size_t>(truth * classes_ + predicted)];
}

void ConfusionMatrix::add(std::int64_t truth, std::int64_t predicted) {
  if (truth < 0 || truth >= classes_ || predicted < 0 || predicted >= classes_)
    throw DataError("[ConfusionMatrix] classes must lie in [0, " + std::to_string(classes_) +
                    "), got true " + std::to_string(truth) + ", predicted " +
                    std::to_string(predicted));
  ++counts_[static_cast<std::size_t>(truth * classes_ + predicted)];
}

void ConfusionMatrix::add(const ConfusionMatrix& other) {
  if (other.classes_ != classes_)
    throw ConfigError("[ConfusionMatrix] can only add a matrix of " + std::to_string(classes_) +
                      " classes, got " + std::to_string(other.classes_));
  std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus<>{});
}

std::int64_t ConfusionMatrix::support(std::int64_t truth) const {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < classes_; ++k)
    sum += at(truth, k);
  return sum;
}

std::int64_t ConfusionMatrix::predicted(std::int64_t predicted) const {
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < classes_; ++k)
    sum += at(k, predicted);
  return sum;
}

double accuracy(const ConfusionMatrix& matrix) {
  if (matrix.total() == 0) return not_defined;
  std::int64_t right = 0;
  for (std::int64_t k = 0; k < matrix.classes(); ++k)
    right += matrix.at(k, k);
  return ratio(right, matrix.total());
}

double precision(const ConfusionMatrix& matrix, std::int64_t k) {
  return share(matrix, k, matrix.at(k, k), matrix.predicted(k));
}

double recall(const ConfusionMatrix& matrix, std::int64_t k) {
  return share(matrix, k, matrix.at(k, k), matrix.support(k));
}

double f1(const ConfusionMatrix& matrix, std::int64_t k) {
  return share(matrix, k, 2 * matrix.at(k, k), matrix.support(k) + matrix.predicted(k));
}

double iou(const ConfusionMatrix& matrix, std::int64_t k) {
  const std::int64_t both = matrix.at(k, k);
  return share(matrix, k, both, matrix.support(k) + matrix.predicted(k) - both);
}

double balanced_accuracy(const ConfusionMatrix& matrix) {
  double sum = 0.0;
  int present = 0;
  for (std::int64_t k = 0; k < matrix.classes(); ++k) {
    if (matrix.support(k) == 0) continue;
    sum += ratio(matrix.at(k, k), matrix.support(k));
    ++present;
  }
  return present == 0 ? not_defined : sum / present;
}

double macro_f1(const ConfusionMatrix& matrix, std::int64_t first) {
  return mean_of_seen(matrix, first, f1);
}

double mean_iou(const ConfusionMatrix& matrix, std::int64_t first) {
  return mean_of_seen(matrix, first, iou);
}

double weighted_f1(const ConfusionMatrix& matrix) {
  if (matrix.total() == 0) return not_defined;
  double sum = 0.0;
  for (std::int64_t k = 0; k < matrix.classes(); ++k)
    if (matrix.support(k) > 0) sum += static_cast<double>(matrix.support(k)) * f1(matrix, k);
  return sum / static_cast<double>(matrix.total());
}

double quadratic_weighted_kappa(const ConfusionMatrix& matrix) {
  const auto total = static_cast<double>(matrix.total());
  double observed = 0.0;
  double expected = 0.0;
  for (std::int64_t i = 0; i < matrix.classes(); ++i) {
    for (std::int64_t j = 0; j < matrix.classes(); ++j) {
      const auto weight = static_cast<double>((i - j) * (i - j));
      observed += weight * static_cast<double>(matrix.at(i, j));
      expected += weight * static_cast<double>(matrix.support(i)) *
                  static_cast<double>(matrix.predicted(j)) / total;
    }
  }
  return expected > 0.0 ? 1.0 - observed / expected : not_defined;
}

}  // namespace headrace::inline v1::models
