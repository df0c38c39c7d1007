#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/threshold_counts.h>

namespace headrace::inline v1::models {

/// Enhanced-alignment measure (Fan et al., IJCAI 2018) of one picture, as PySODMetrics 1.6.2 has it
/// (`Emeasure`). It divides by pixels - 1, so that it can exceed 1 in small pictures; of a picture
/// of one pixel it is no figure to go by (0, or 2^52).
HEADRACE_API ThresholdCurve e_measure(const ThresholdCounts& counts);

}  // namespace headrace::inline v1::models
