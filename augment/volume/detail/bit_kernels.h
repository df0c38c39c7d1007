#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// Words that a vector has at most: so many may be read behind a volume of bits.
inline constexpr std::int64_t most_lanes = 8;

struct MarkTask {
  const std::uint8_t* voxels = nullptr;  ///< [height, width]
  std::uint8_t value = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::uint64_t* rows = nullptr;  ///< of row_words words each, at least width / 64 + 1
  std::int64_t row_words = 0;
};

/// Sets bit x of a row where the voxel is not `value`, all others of the words that it reaches 0.
/// Targets as in volume_filters.h.
bool mark_slice(const MarkTask& task, int target = -1);

/// Rows of bits as VoxelBits holds them, from the first voxel on.
struct RowGrid {
  const std::uint64_t* first = nullptr;
  std::int64_t row_words = 0;
  std::int64_t slice_words = 0;
  std::int64_t slices = 0;
};

/// The Euler characteristic of a complex of cubes by runs of 1: those in each row, less those of
/// each two rows that lie side by side, joined, and those of each four around an edge along x,
/// joined. Joined by "or" voxels are closed cubes, so that they hang together by corners; by "and"
/// they are vertices, which hang together by faces. Targets as above.
bool euler_of_runs(const RowGrid& grid, bool by_corners, std::int64_t& euler, int target = -1);

}  // namespace headrace::inline v1::detail
