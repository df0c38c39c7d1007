#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Which voxels touch.
enum class Neighbours : unsigned char {
  faces,    ///< 6: those that share a side
  edges,    ///< 18: or an edge
  corners,  ///< 26: or a corner
};

struct ComponentRule {
  Neighbours neighbours = Neighbours::corners;
  /// Voxels of different labels are never of one component; else all but 0 are alike.
  bool by_label = true;
};

/// Numbers the connected components of all labels but 0: from 1 in the order of their first voxels,
/// 0 where the label is 0. Gives their count. Time grows with the voxels alone, memory with the
/// runs of labels (24 bytes each, some more for a moment). Throws ConfigError when the spans are
/// not of that extent or it has 2^31 voxels or more.
HEADRACE_API std::int32_t label_components(std::span<const std::uint8_t> labels,
                                           const GridExtent& extent, const ComponentRule& rule,
                                           std::span<std::int32_t> numbers);
HEADRACE_API std::int32_t label_components(std::span<const std::int16_t> labels,
                                           const GridExtent& extent, const ComponentRule& rule,
                                           std::span<std::int32_t> numbers);

/// Which components of each class go; a component is of one label.
struct ComponentFilter {
  std::int64_t least = 0;     ///< those of fewer voxels go
  bool keep_largest = false;  ///< all but the largest of their label go; of two the first stays
  std::vector<std::int64_t> labels{};  ///< that this is about; none: all but 0
  Neighbours neighbours = Neighbours::corners;
};

/// Sets the voxels of components that go to 0, in place, and gives their count. Throws as
/// label_components().
HEADRACE_API std::int64_t remove_components(std::span<std::uint8_t> labels,
                                            const GridExtent& extent,
                                            const ComponentFilter& filter);
HEADRACE_API std::int64_t remove_components(std::span<std::int16_t> labels,
                                            const GridExtent& extent,
                                            const ComponentFilter& filter);

}  // namespace headrace::inline v1
