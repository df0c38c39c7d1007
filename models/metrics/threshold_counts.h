#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/saliency_pair.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::models {

/// Thresholds that the curves of E and F run over.
inline constexpr std::size_t saliency_thresholds = 256;

/// Pixels that a prediction marks.
struct MarkedPixels {
  std::int64_t object = 0;  ///< true positives
  std::int64_t rest = 0;    ///< false positives
};

/// What a prediction marks at every threshold, from one pass over it.
struct ThresholdCounts {
  std::int64_t pixels = 0;
  std::int64_t object = 0;                             ///< of the mask
  std::array<MarkedPixels, saliency_thresholds> at{};  ///< where trunc(255 p) >= the index
  MarkedPixels adaptive{};                             ///< where p >= min(2 mean(p), 1)
};

HEADRACE_API ThresholdCounts threshold_counts(const SaliencyPair& pair);

/// How a prediction is made a mask: `p > threshold`, or `p >= threshold`.
enum class Reached : unsigned char { above, at_least };

HEADRACE_API MarkedPixels marked_pixels(const SaliencyPair& pair, double threshold,
                                        Reached reached = Reached::above);

/// A measure at every threshold, as ThresholdCounts has them, and at the adaptive one.
/// (PySODMetrics' curves run from 255 down.)
struct ThresholdCurve {
  std::array<double, saliency_thresholds> at{};
  double adaptive = 0.0;
};

}  // namespace headrace::inline v1::models
