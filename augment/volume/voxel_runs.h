#pragma once

#include <headrace/augment/volume/components.h>
#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Voxels side by side in a row: [begin, end).
struct VoxelRun {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// The runs of a binary volume's rows, and the connected components that they make. Time grows with
/// the words of bits and the runs; memory is 12 bytes a run and 4 a row, asked for only where they
/// are more than ever.
class HEADRACE_API VoxelRuns {
 public:
  /// Voxels of 1; components are numbered from 1 in the order of their first voxels. Gives their
  /// count. Throws ConfigError for neighbours by edges.
  std::int64_t find_objects(const VoxelBits& voxels, Neighbours neighbours);
  /// Voxels of 0: those that hang together with what lies outside are number 0, the cavities, which
  /// do not, are numbered from 1. Gives the cavities' count. Throws likewise.
  std::int64_t find_background(const VoxelBits& voxels, Neighbours neighbours);

  std::int64_t rows() const noexcept { return static_cast<std::int64_t>(first_.size()) - 1; }
  /// Row z * height + y.
  std::span<const VoxelRun> runs(std::int64_t row) const {
    return {runs_.data() + first_of(row), first_of(row + 1) - first_of(row)};
  }
  /// The components of its runs.
  std::span<const std::int32_t> numbers(std::int64_t row) const {
    return {numbers_.data() + 1 + first_of(row), first_of(row + 1) - first_of(row)};
  }

 private:
  std::size_t first_of(std::int64_t row) const {
    return static_cast<std::size_t>(first_[static_cast<std::size_t>(row)]);
  }
  void read_rows(const VoxelBits& voxels, bool objects);

  std::vector<VoxelRun> runs_{};
  std::vector<std::int32_t> first_{0};    // run of each row, and the end
  std::vector<std::int32_t> numbers_{0};  // of what lies outside, then of each run
};

}  // namespace headrace::inline v1
