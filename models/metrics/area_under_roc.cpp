#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/area_under_roc.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

namespace {

constexpr double undefined_area = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double area_under_roc(std::span<const double> scores, std::span<const std::uint8_t> labels) {
  if (scores.size() != labels.size())
    throw DataError("[area_under_roc] needs a label for each score, got " +
                    std::to_string(scores.size()) + " scores and " + std::to_string(labels.size()) +
                    " labels");
  if (std::ranges::any_of(labels, [](std::uint8_t label) { return label > 1; }))
    throw DataError("[area_under_roc] labels must be 0 or 1");
  if (std::ranges::any_of(scores, [](double score) { return std::isnan(score); }))
    return undefined_area;

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
  if (positives == 0.0 || negatives == 0.0) return undefined_area;
  return (rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives);
}

double macro_area_under_roc(std::span<const float> scores, std::span<const std::uint8_t> labels,
                            std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns);
  if (columns < 1 || scores.size() != labels.size() || scores.size() % width != 0)
    throw DataError("[macro_area_under_roc] needs rows of " + std::to_string(columns) +
                    " scores and labels each, got " + std::to_string(scores.size()) +
                    " scores and " + std::to_string(labels.size()) + " labels");
  const std::size_t rows = scores.size() / width;
  std::vector<double> of_column(rows);
  std::vector<std::uint8_t> truth(rows);
  double sum = 0.0;
  int defined = 0;
  for (std::size_t k = 0; k < width; ++k) {
    for (std::size_t i = 0; i < rows; ++i) {
      of_column[i] = double{scores[i * width + k]};
      truth[i] = labels[i * width + k];
    }
    if (std::ranges::adjacent_find(truth, std::ranges::not_equal_to{}) == truth.end()) continue;
    sum += area_under_roc(of_column, truth);
    ++defined;
  }
  return defined == 0 ? undefined_area : sum / defined;
}

}  // namespace headrace::inline v1::models
