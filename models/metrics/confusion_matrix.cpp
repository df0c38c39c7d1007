#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/confusion_matrix.h>

#include <algorithm>
#include <cmath>
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

double f1_of_class(const ConfusionMatrix& matrix, std::int64_t k) {
  return ratio(2 * matrix.at(k, k), matrix.support(k) + matrix.predicted(k));
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

double macro_f1(const ConfusionMatrix& matrix) {
  double sum = 0.0;
  int counted = 0;
  for (std::int64_t k = 0; k < matrix.classes(); ++k) {
    if (matrix.support(k) + matrix.predicted(k) == 0) continue;
    sum += f1_of_class(matrix, k);
    ++counted;
  }
  return counted == 0 ? not_defined : sum / counted;
}

double weighted_f1(const ConfusionMatrix& matrix) {
  if (matrix.total() == 0) return not_defined;
  double sum = 0.0;
  for (std::int64_t k = 0; k < matrix.classes(); ++k)
    if (matrix.support(k) > 0)
      sum += static_cast<double>(matrix.support(k)) * f1_of_class(matrix, k);
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

double area_under_roc(std::span<const double> scores, std::span<const std::uint8_t> labels) {
  if (scores.size() != labels.size())
    throw DataError("[area_under_roc] needs a label for each score, got " +
                    std::to_string(scores.size()) + " scores and " + std::to_string(labels.size()) +
                    " labels");
  if (std::ranges::any_of(labels, [](std::uint8_t label) { return label > 1; }))
    throw DataError("[area_under_roc] labels must be 0 or 1");
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); }))
    return not_defined;

  std::vector<std::size_t> by_score(scores.size());
  std::iota(by_score.begin(), by_score.end(), std::size_t{0});
  std::ranges::sort(by_score, {}, [&](std::size_t i) { return scores[i]; });

  double positives = 0.0;
  double rank_sum = 0.0;
  for (std::size_t first = 0; first < by_score.size();) {
    std::size_t last = first;
    double tied_positives = 0.0;
    for (; last < by_score.size() && scores[by_score[last]] == scores[by_score[first]]; ++last)
      tied_positives += labels[by_score[last]];
    positives += tied_positives;
    rank_sum += tied_positives * (static_cast<double>(first + last + 1) / 2.0);
    first = last;
  }
  const double negatives = static_cast<double>(scores.size()) - positives;
  if (positives == 0.0 || negatives == 0.0) return not_defined;
  return (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

}  // namespace headrace::inline v1::models
