#include <headrace/models/metrics/saliency_pair.h>
#include <headrace/models/metrics/threshold_measures.h>

#include <algorithm>

namespace headrace::inline v1::models {

using detail::divisor_eps;

namespace {

template <class Marks>
MarkedPixels count(const SaliencyPair& pair, const Marks& marks) {
  const auto p = pair.prediction();
  const auto mask = pair.mask();
  std::int64_t all = 0;
  std::int64_t object = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const std::int64_t marked = marks(p[i]) ? 1 : 0;
    all += marked;
    object += marked & mask[i];
  }
  return {.object = object, .rest = all - object};
}

}  // namespace

MarkedPixels marked_pixels(const SaliencyPair& pair, double threshold, Reached reached) {
  if (reached == Reached::above) return count(pair, [=](double p) { return p > threshold; });
  return count(pair, [=](double p) { return p >= threshold; });
}

ThresholdCounts threshold_counts(const SaliencyPair& pair) {
  ThresholdCounts counts{.pixels = pair.pixels(), .object = pair.object_pixels()};
  std::array<std::int64_t, 2 * saliency_thresholds> histogram{};
  const auto p = pair.prediction();
  const auto mask = pair.mask();
  for (std::size_t i = 0; i < p.size(); ++i)
    ++histogram[2 * static_cast<std::size_t>(static_cast<int>(p[i] * 255.0)) + mask[i]];
  MarkedPixels marked;
  for (std::size_t t = saliency_thresholds; t-- > 0;) {
    marked.rest += histogram[2 * t];
    marked.object += histogram[2 * t + 1];
    counts.at[t] = marked;
  }
  counts.adaptive = marked_pixels(pair, std::min(2.0 * pair.mean(), 1.0), Reached::at_least);
  return counts;
}

namespace {

// Of a pixel whose prediction and mask lie `a` and `c` above their means.
double alignment(double a, double c) {
  const double aligned = 2.0 * a * c / (a * a + c * c + divisor_eps);
  return (aligned + 1.0) * (aligned + 1.0) / 4.0;
}

double enhanced_sum(const ThresholdCounts& counts, const MarkedPixels& marked) {
  const auto pixels = static_cast<double>(counts.pixels);
  const auto all_marked = static_cast<double>(marked.object + marked.rest);
  if (counts.object == 0) return pixels - all_marked;
  if (counts.object == counts.pixels) return all_marked;
  const auto object = static_cast<double>(counts.object);
  const auto hit = static_cast<double>(marked.object);
  const auto false_alarm = static_cast<double>(marked.rest);
  const double p = all_marked / pixels;
  const double g = object / pixels;
  return alignment(1.0 - p, 1.0 - g) * hit + alignment(1.0 - p, -g) * false_alarm +
         alignment(-p, 1.0 - g) * (object - hit) +
         alignment(-p, -g) * (pixels - object - false_alarm);
}

}  // namespace

ThresholdCurve e_measure(const ThresholdCounts& counts) {
  const double divisor = static_cast<double>(counts.pixels) - 1.0 + divisor_eps;
  ThresholdCurve curve;
  for (std::size_t t = 0; t < saliency_thresholds; ++t)
    curve.at[t] = enhanced_sum(counts, counts.at[t]) / divisor;
  curve.adaptive = enhanced_sum(counts, counts.adaptive) / divisor;
  return curve;
}

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
