#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/saliency_pair.h>

namespace headrace::inline v1::models {

/// Structure measure (Fan et al., ICCV 2017) and its two parts.
struct SMeasure {
  double value = 0.0;   ///< alpha * object + (1 - alpha) * region, not below 0
  double object = 0.0;  ///< how evenly the prediction covers the object and leaves out the rest
  double region = 0.0;  ///< structural similarity of the quadrants about the object's centre
};

/// As PySODMetrics 1.6.2 has it (`Smeasure`). A mask without an object gives 1 - mean, one without
/// anything else the mean of the prediction, as all three figures. Two differences, where
/// PySODMetrics has no number or depends on rounding: a quadrant without pixels has no part (there,
/// NaN), and a prediction that is constant in a quadrant has no variance there.
HEADRACE_API SMeasure s_measure(const SaliencyPair& pair, double alpha = 0.5);

}  // namespace headrace::inline v1::models
