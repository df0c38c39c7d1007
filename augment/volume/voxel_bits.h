#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// A binary volume of one bit a voxel, with voxels of 0 all around it, so that what works on 64
/// voxels at once reads neighbours without asking where the volume ends. A row along x has
/// row_words() words, the lowest bit of the first is voxel 0, and the last bit of the last is 0.
/// What is filled anew asks for memory only where it becomes larger than ever.
class HEADRACE_API VoxelBits {
 public:
  VoxelBits() = default;
  explicit VoxelBits(const GridExtent& extent) { clear(extent); }

  /// All 0. Throws ConfigError for a side below 0 and for 2^31 voxels and more.
  void clear(const GridExtent& extent);
  /// 1 where a voxel is not `value`. Throws ConfigError when the span is not of that extent, too.
  void mark(std::span<const std::uint8_t> voxels, const GridExtent& extent, std::uint8_t value = 0);
  /// What lies in a box of another volume. Throws ConfigError for a box that reaches beyond it.
  void cut(const VoxelBits& from, const GridBox& box);
  /// Throw ConfigError for another extent.
  VoxelBits& operator&=(const VoxelBits& other);
  VoxelBits& operator|=(const VoxelBits& other);

  /// Writes 1 and 0. Throws ConfigError when the span is not of the extent.
  void put(std::span<std::uint8_t> voxels) const;
  /// Voxels of 1.
  std::int64_t count() const;

  const GridExtent& extent() const noexcept { return extent_; }
  std::int64_t row_words() const noexcept { return row_words_; }
  /// From one row of slice z to the same of the next.
  std::int64_t slice_words() const noexcept { return (extent_[1] + 1) * row_words_; }
  /// For z from -1 to the depth and y from -1 to the height; those at the ends are 0.
  const std::uint64_t* row(std::int64_t z, std::int64_t y) const noexcept {
    return words_.data() + first_ + z * slice_words() + y * row_words_;
  }
  std::uint64_t* row(std::int64_t z, std::int64_t y) noexcept {
    return words_.data() + first_ + z * slice_words() + y * row_words_;
  }
  bool at(std::int64_t z, std::int64_t y, std::int64_t x) const noexcept {
    return (row(z, y)[x / 64] >> (x % 64) & 1U) != 0;
  }

  /// Memory for a volume of that extent.
  static std::size_t bytes(const GridExtent& extent);

 private:
  void require_same(const VoxelBits& other) const;

  GridExtent extent_{};
  std::int64_t row_words_ = 1;
  std::int64_t first_ = 0;
  std::vector<std::uint64_t> words_{};
};

}  // namespace headrace::inline v1
