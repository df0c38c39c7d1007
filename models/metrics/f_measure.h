#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/threshold_counts.h>

namespace headrace::inline v1::models {

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
