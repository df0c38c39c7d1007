#include <headrace/augment/volume/detail/bit_morphology.h>

#include <cstdint>

namespace headrace::inline v1::detail {
namespace {

/// The volume's words one behind the other; bits of what lies outside may become 1 in passes, but
/// move only to other places outside, and the last pass takes them away.
struct WordSpan {
  explicit WordSpan(const VoxelBits& bits)
      : count(bits.extent()[0] * bits.slice_words()),
        row(bits.row_words()),
        slice(bits.slice_words()) {}
  std::int64_t count;
  std::int64_t row;
  std::int64_t slice;
};

std::uint64_t beside(const std::uint64_t* word) {
  return *word << 1 | word[-1] >> 63 | *word >> 1 | word[1] << 63;
}

void complement(const VoxelBits& from, const VoxelBits& inside, VoxelBits& to) {
  const WordSpan span(from);
  const std::uint64_t* in = from.row(0, 0);
  const std::uint64_t* mask = inside.row(0, 0);
  std::uint64_t* out = to.row(0, 0);
  for (std::int64_t i = 0; i < span.count; ++i)
    out[i] = mask[i] & ~in[i];
}

}  // namespace

void BitMorphology::begin(const GridExtent& extent) {
  for (VoxelBits* bits : {&inside_, &outer_, &rows_, &slices_})
    bits->clear(extent);
  const std::uint64_t last = (std::uint64_t{1} << (extent[2] % 64)) - 1;
  for (std::int64_t z = 0; z < extent[0]; ++z) {
    for (std::int64_t y = 0; y < extent[1]; ++y) {
      std::uint64_t* row = inside_.row(z, y);
      for (std::int64_t i = 0; i < extent[2] / 64; ++i)
        row[i] = ~std::uint64_t{0};
      row[extent[2] / 64] = last;
    }
  }
}

void BitMorphology::erode_cross(const VoxelBits& from, VoxelBits& to) {
  complement(from, inside_, outer_);
  const WordSpan span(from);
  const std::uint64_t* outer = outer_.row(0, 0);
  const std::uint64_t* in = from.row(0, 0);
  std::uint64_t* out = to.row(0, 0);
  for (std::int64_t i = 0; i < span.count; ++i) {
    const std::uint64_t* at = outer + i;
    out[i] =
        in[i] & ~(beside(at) | at[-span.row] | at[span.row] | at[-span.slice] | at[span.slice]);
  }
}

void BitMorphology::erode_cube(const VoxelBits& from, VoxelBits& to) {
  complement(from, inside_, outer_);
  dilate_cube(outer_, to);
  complement(to, inside_, to);
}

void BitMorphology::dilate_cube(const VoxelBits& from, VoxelBits& to) {
  const WordSpan span(from);
  const std::uint64_t* in = from.row(0, 0);
  const std::uint64_t* mask = inside_.row(0, 0);
  std::uint64_t* rows = rows_.row(0, 0);
  std::uint64_t* slices = slices_.row(0, 0);
  std::uint64_t* out = to.row(0, 0);
  for (std::int64_t i = 0; i < span.count; ++i)
    rows[i] = in[i] | beside(in + i);
  for (std::int64_t i = 0; i < span.count; ++i)
    slices[i] = rows[i - span.row] | rows[i] | rows[i + span.row];
  for (std::int64_t i = 0; i < span.count; ++i)
    out[i] = mask[i] & (slices[i - span.slice] | slices[i] | slices[i + span.slice]);
}

}  // namespace headrace::inline v1::detail
