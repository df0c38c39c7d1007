#include <headrace/models/metrics/threshold_counts.h>

#include <algorithm>

namespace headrace::inline v1::models {

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

}  // namespace headrace::inline v1::models
