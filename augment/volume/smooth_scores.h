#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <array>
#include <span>

namespace headrace::inline v1 {

/// Smooths scores, float32 [z, y, x], in place by a Gaussian with a deviation in voxels for each
/// axis, 0 to 20; 0 leaves an axis as it is. The kernel is cut at about three deviations (the odd
/// number of taps nearest to 6 deviations + 0.5) and its sum is 1; the border is reflected without
/// its own value: VolumeBlur's filter. A score that is no number spoils those about it. In memory
/// of the thread: some slices, as many as there are taps on one side along z, and two more. Throws
/// ConfigError when the span is not of that extent and for other deviations.
HEADRACE_API void smooth_scores(std::span<float> scores, const GridExtent& extent,
                                const std::array<double, 3>& deviations);

}  // namespace headrace::inline v1
