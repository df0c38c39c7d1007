#include <headrace/models/metrics/f_measure.h>

namespace headrace::inline v1::models {

namespace {

double ratio_or_zero(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

MaskOverlap mask_overlap(const MarkedPixels& marked, std::int64_t object) {
  const std::int64_t all = marked.object + marked.rest;
  return {.iou = ratio_or_zero(marked.object, object + marked.rest),
          .dice = ratio_or_zero(2 * marked.object, object + all),
          .precision = ratio_or_zero(marked.object, all),
          .recall = ratio_or_zero(marked.object, object)};
}

ThresholdCurve f_measure(const ThresholdCounts& counts, double beta_squared) {
  const auto f = [&](const MarkedPixels& marked) {
    if (marked.object == 0) return 0.0;
    const MaskOverlap overlap = mask_overlap(marked, counts.object);
    return (1.0 + beta_squared) * overlap.precision * overlap.recall /
           (beta_squared * overlap.precision + overlap.recall);
  };
  ThresholdCurve curve;
  for (std::size_t t = 0; t < saliency_thresholds; ++t)
    curve.at[t] = f(counts.at[t]);
  curve.adaptive = f(counts.adaptive);
  return curve;
}

}  // namespace headrace::inline v1::models
