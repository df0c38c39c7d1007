#include <headrace/models/metrics/detail/divisor_eps.h>
#include <headrace/models/metrics/e_measure.h>

namespace headrace::inline v1::models {

using detail::divisor_eps;

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

}  // namespace headrace::inline v1::models
