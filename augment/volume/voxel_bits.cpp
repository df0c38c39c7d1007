#include <headrace/augment/volume/detail/bit_kernels.h>
#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace headrace::inline v1 {
namespace {

std::string text_of(const GridExtent& extent) {
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " +
         std::to_string(extent[2]);
}

void check_extent(const GridExtent& extent) {
  double voxels = 1.0;
  for (const std::int64_t side : extent)
    voxels *= static_cast<double>(side);
  if (std::ranges::min(extent) >= 0 && voxels < 2147483648.0) return;
  throw ConfigError(
      "[voxel bits] a volume must have sides from 0 and fewer than 2^31 voxels, got " +
      text_of(extent));
}

void check_span(const GridExtent& extent, std::size_t voxels) {
  check_extent(extent);
  if (voxels_of(extent) == static_cast<std::int64_t>(voxels)) return;
  throw ConfigError("[voxel bits] extent says " + std::to_string(voxels_of(extent)) +
                    " voxels, got " + std::to_string(voxels));
}

std::int64_t words_of_row(const GridExtent& extent) {
  return extent[2] / 64 + 1;
}

// A word before the first slice, a slice and a row of 0 there, a slice of 0 behind, and a vector.
std::int64_t first_word(const GridExtent& extent) {
  return 1 + (extent[1] + 2) * words_of_row(extent);
}

std::int64_t all_words(const GridExtent& extent) {
  return first_word(extent) + (extent[0] + 1) * (extent[1] + 1) * words_of_row(extent) +
         detail::most_lanes;
}

constexpr auto spread_bits = [] {
  std::array<std::array<std::uint8_t, 8>, 256> spread{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t bit = 0; bit < 8; ++bit)
      spread[byte][bit] = static_cast<std::uint8_t>(byte >> bit & 1U);
  return spread;
}();

}  // namespace

void VoxelBits::clear(const GridExtent& extent) {
  check_extent(extent);
  extent_ = extent;
  row_words_ = words_of_row(extent);
  first_ = first_word(extent);
  words_.assign(static_cast<std::size_t>(all_words(extent)), 0);
}

void VoxelBits::mark(std::span<const std::uint8_t> voxels, const GridExtent& extent,
                     std::uint8_t value) {
  check_span(extent, voxels.size());
  clear(extent);
  for (std::int64_t z = 0; z < extent[0]; ++z)
    detail::mark_slice({.voxels = voxels.data() + z * extent[1] * extent[2],
                        .value = value,
                        .height = extent[1],
                        .width = extent[2],
                        .rows = row(z, 0),
                        .row_words = row_words_});
}

void VoxelBits::cut(const VoxelBits& from, const GridBox& box) {
  GridExtent sides{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    sides[axis] = box.end[axis] - box.begin[axis];
    if (box.begin[axis] >= 0 && sides[axis] >= 0 && box.end[axis] <= from.extent_[axis]) continue;
    throw ConfigError("[voxel bits] a box must lie in the volume of " + text_of(from.extent_) +
                      ", got " + text_of(box.begin) + " to " + text_of(box.end));
  }
  clear(sides);
  const std::int64_t skipped = box.begin[2] / 64;
  const int shift = static_cast<int>(box.begin[2] % 64);
  const std::int64_t left = from.row_words_ - skipped;
  const std::uint64_t last = (std::uint64_t{1} << (sides[2] % 64)) - 1;
  for (std::int64_t z = 0; z < sides[0]; ++z) {
    for (std::int64_t y = 0; y < sides[1]; ++y) {
      const std::uint64_t* source = from.row(z + box.begin[0], y + box.begin[1]) + skipped;
      std::uint64_t* target = row(z, y);
      for (std::int64_t i = 0; i < std::min(row_words_, left); ++i) {
        target[i] = source[i] >> shift;
        if (shift != 0 && i + 1 < left) target[i] |= source[i + 1] << (64 - shift);
      }
      target[row_words_ - 1] &= last;
    }
  }
}

void VoxelBits::require_same(const VoxelBits& other) const {
  if (other.extent_ == extent_) return;
  throw ConfigError("[voxel bits] volumes must be of one extent, got " + text_of(extent_) +
                    " and " + text_of(other.extent_));
}

VoxelBits& VoxelBits::operator&=(const VoxelBits& other) {
  require_same(other);
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_[i] &= other.words_[i];
  return *this;
}

VoxelBits& VoxelBits::operator|=(const VoxelBits& other) {
  require_same(other);
  for (std::size_t i = 0; i < words_.size(); ++i)
    words_[i] |= other.words_[i];
  return *this;
}

void VoxelBits::put(std::span<std::uint8_t> voxels) const {
  check_span(extent_, voxels.size());
  std::uint8_t* to = voxels.data();
  for (std::int64_t z = 0; z < extent_[0]; ++z) {
    for (std::int64_t y = 0; y < extent_[1]; ++y, to += extent_[2]) {
      const std::uint64_t* bits = row(z, y);
      for (std::int64_t x = 0; x < extent_[2]; x += 8) {
        const auto count = static_cast<std::size_t>(std::min<std::int64_t>(8, extent_[2] - x));
        std::memcpy(to + x, spread_bits[bits[x / 64] >> (x % 64) & 255U].data(), count);
      }
    }
  }
}

std::int64_t VoxelBits::count() const {
  std::int64_t sum = 0;
  for (const std::uint64_t word : words_)
    sum += std::popcount(word);
  return sum;
}

std::size_t VoxelBits::bytes(const GridExtent& extent) {
  return static_cast<std::size_t>(all_words(extent)) * sizeof(std::uint64_t);
}

}  // namespace headrace::inline v1
