#pragma once

#include <headrace/augment/volume/detail/labels.h>

#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Thins what is not 0 in place, by Lee's rules, to 1 and 0. A grid of depth 1 is thinned as a
/// picture: from four sides. In memory of the thread.
void thin(std::uint8_t* voxels, const LabelGrid& grid);

/// Adds the 6 neighbours of what is not 0. In memory of the thread.
void grow_by_neighbours(std::uint8_t* voxels, const LabelGrid& grid);

/// Bytes of memory that these two need.
std::size_t thinning_bytes(const LabelGrid& grid);

}  // namespace headrace::inline v1::detail
