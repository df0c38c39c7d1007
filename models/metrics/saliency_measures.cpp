#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/saliency_measures.h>
#include <headrace/models/metrics/threshold_measures.h>
#include <headrace/models/metrics/weighted_f.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace headrace::inline v1::models {

namespace {

void add_to(ThresholdCurve& sum, const ThresholdCurve& curve) {
  for (std::size_t t = 0; t < saliency_thresholds; ++t)
    sum.at[t] += curve.at[t];
  sum.adaptive += curve.adaptive;
}

double mean_of(const ThresholdCurve& curve) {
  return std::accumulate(curve.at.begin(), curve.at.end(), 0.0) /
         static_cast<double>(saliency_thresholds);
}

}  // namespace

SaliencyMeasures saliency_measures(const SaliencyPair& pair, const MaskRule& rule) {
  const ThresholdCounts counts = threshold_counts(pair);
  return {.mae = mean_absolute_error(pair),
          .s = s_measure(pair),
          .e = e_measure(counts),
          .f = f_measure(counts),
          .weighted_f = weighted_f(pair),
          .overlap = mask_overlap(marked_pixels(pair, rule.threshold, rule.reached),
                                  pair.object_pixels())};
}

void SaliencyMeans::require_new(std::int64_t picture) const {
  if (of_picture_.contains(picture))
    throw DataError("[saliency] picture " + std::to_string(picture) +
                    " must be measured once, and came twice; give each picture its own number");
}

void SaliencyMeans::add(std::int64_t picture, const SaliencyMeasures& measures) {
  require_new(picture);
  of_picture_.emplace(picture, measures);
}

void SaliencyMeans::add(const SaliencyMeans& other) {
  for (const auto& [picture, measures] : other.of_picture_)
    require_new(picture);
  of_picture_.insert(other.of_picture_.begin(), other.of_picture_.end());
}

SaliencyFigures SaliencyMeans::figures() const {
  SaliencyMeasures sum;
  for (const auto& [picture, measures] : of_picture_) {
    sum.mae += measures.mae;
    sum.s.value += measures.s.value;
    add_to(sum.e, measures.e);
    add_to(sum.f, measures.f);
    sum.weighted_f += measures.weighted_f;
    sum.overlap.iou += measures.overlap.iou;
    sum.overlap.dice += measures.overlap.dice;
  }
  const auto n = static_cast<double>(of_picture_.size());
  return {.pictures = pictures(),
          .mae = sum.mae / n,
          .s_measure = sum.s.value / n,
          .e_mean = mean_of(sum.e) / n,
          .e_max = *std::ranges::max_element(sum.e.at) / n,
          .e_adaptive = sum.e.adaptive / n,
          .f_mean = mean_of(sum.f) / n,
          .f_max = *std::ranges::max_element(sum.f.at) / n,
          .f_adaptive = sum.f.adaptive / n,
          .weighted_f = sum.weighted_f / n,
          .iou = sum.overlap.iou / n,
          .dice = sum.overlap.dice / n};
}

}  // namespace headrace::inline v1::models
