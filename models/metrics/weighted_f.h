#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/saliency_pair.h>

namespace headrace::inline v1::models {

/// Weighted F-measure (Margolin et al., CVPR 2014) with beta = 1, as PySODMetrics 1.6.2 has it
/// (`WeightedFmeasure`); 0 where the mask has no object. A background pixel takes the error of the
/// nearest pixel of the object; of equally near ones that which `nearest_object` names, which is
/// SciPy 1.17's choice, too. Takes 16 bytes a pixel while it runs.
HEADRACE_API double weighted_f(const SaliencyPair& pair);

}  // namespace headrace::inline v1::models
