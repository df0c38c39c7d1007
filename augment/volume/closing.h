#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

struct Closing {
  double radius = 1.0;                 ///< of the ball, in voxels
  std::vector<std::int64_t> labels{};  ///< each is closed, in this order; none: all but 0, upwards
};

/// Binary closing of each label with a ball, in place: voxels that no ball outside of the label
/// reaches get it where they were 0; those of other labels stay. The volume is taken to go on with
/// 0 outside, so that nothing is lost at its border. Exact, by two distance transforms of the box
/// about the label; the result for a radius is that of a ball whose voxels are at most so far from
/// its middle. Gives the voxels that were filled. Throws ConfigError when the span is not of that
/// extent and for a radius outside of 0 to 1000.
HEADRACE_API std::int64_t close_labels(std::span<std::uint8_t> labels, const GridExtent& extent,
                                       const Closing& closing);
HEADRACE_API std::int64_t close_labels(std::span<std::int16_t> labels, const GridExtent& extent,
                                       const Closing& closing);

}  // namespace headrace::inline v1
