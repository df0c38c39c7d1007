#pragma once

#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/grid_extent.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::detail {

/// Voxels of one label side by side in a row.
struct LabelRun {
  std::int64_t row = 0;  ///< z * height + y
  std::int32_t begin = 0;
  std::int32_t end = 0;  ///< one beyond
  std::int32_t label = 0;
  std::int32_t component = 0;  ///< from 0, in the order of their first voxels
};

struct LabelRuns {
  std::vector<LabelRun> runs;
  std::int32_t components = 0;
};

/// The runs of all labels but 0, and which of them hang together: first each run joins those of the
/// rows before it (union-find), then components are numbered. Takes time in proportion to the
/// voxels and memory to the runs.
template <class Label>
LabelRuns find_components(const Label* labels, const GridExtent& extent, const ComponentRule& rule);

extern template LabelRuns find_components(const std::uint8_t*, const GridExtent&,
                                          const ComponentRule&);
extern template LabelRuns find_components(const std::int16_t*, const GridExtent&,
                                          const ComponentRule&);

}  // namespace headrace::inline v1::detail
