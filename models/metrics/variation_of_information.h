#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/mask_pair.h>

#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

/// What two partitions do not say of each other (Meila: "Comparing clusterings", 2003), in bits.
struct VariationOfInformation {
  double of_truth = 0.0;       ///< H(truth | prediction): objects that were merged
  double of_prediction = 0.0;  ///< H(prediction | truth): objects that were split

  double sum() const { return of_truth + of_prediction; }
  /// 1 / (1 + alpha * sum).
  double score(double alpha = 0.3) const { return 1.0 / (1.0 + alpha * sum()); }
};

/// Of the components, by corners, of the two masks, over the voxels where one of them has
/// foreground; there background is one more part. 0 where both are empty. In parallel by the oneTBB
/// arena that it is called in, the same values for any number of threads.
HEADRACE_API VariationOfInformation variation_of_information(const MaskPair& pair);

/// Of labels, place by place; those that are 0 in both do not count. Throws DataError for different
/// lengths and for a label below 0.
HEADRACE_API VariationOfInformation variation_of_information(
    std::span<const std::int32_t> prediction, std::span<const std::int32_t> truth);

}  // namespace headrace::inline v1::models
