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

/// Enhanced-alignment measure (Fan et al., IJCAI 2018) of one picture, as PySODMetrics 1.6.2 has it
/// (`Emeasure`). It divides by pixels - 1, so that it can exceed 1 in small pictures; of a picture
/// of one pixel it is no figure to go by (0, or 2^52).
HEADRACE_API ThresholdCurve e_measure(const ThresholdCounts& counts);

/// F-measure of one picture with beta^2 = .3 (Achanta et al., CVPR 2009), as PySODMetrics 1.6.2 has
/// it (`Fmeasure`); 0 where nothing of the object is marked.
HEADRACE_API ThresholdCurve f_measure(const ThresholdCounts& counts, double beta_squared = 0.3);

/// How a mask that was made of a prediction covers the object; each 0 where it would be 0 / 0.
struct MaskOverlap {
  double iou = 0.0;
  double dice = 0.0;
  double precision = 0.0;
  double recall = 0.0;
};

/// Of `marked` pixels against an object of `object`. With `marked_pixels(pair, .5)` these are what
/// PySODMetrics 1.6.2 calls `binary`: FmeasureV2 with IOUHandler, DICEHandler, PrecisionHandler and
/// RecallHandler, `with_binary=True` and `sample_based=True`. Its `dynamic` ones are those of
/// `ThresholdCounts::at`, its `adaptive` one that of `ThresholdCounts::adaptive`.
HEADRACE_API MaskOverlap mask_overlap(const MarkedPixels& marked, std::int64_t object);

}  // namespace headrace::inline v1::models
