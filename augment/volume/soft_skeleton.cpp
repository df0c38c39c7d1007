#include <headrace/augment/volume/detail/labels.h>
#include <headrace/augment/volume/soft_skeleton.h>
#include <headrace/augment/volume/voxel_bits.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace headrace::inline v1::detail {
namespace {

/// Erosion and dilation of binary volumes of one extent, 64 voxels at once. What lies outside of
/// the volume decides nothing: it counts as 1 where a volume is eroded, as 0 where it is dilated,
/// as max-pooling with a padding of -inf has it. Used by one thread at a time; asks for memory only
/// where an extent is larger than ever.
class BitMorphology {
 public:
  void begin(const GridExtent& extent);
  /// 1 where the voxel and its 6 neighbours are. `to` is not `from`, here and below.
  void erode_cross(const VoxelBits& from, VoxelBits& to);
  /// 1 where all voxels of the 3 x 3 x 3 around are.
  void erode_cube(const VoxelBits& from, VoxelBits& to);
  /// 1 where one of those is.
  void dilate_cube(const VoxelBits& from, VoxelBits& to);

  static std::size_t bytes(const GridExtent& extent) { return 4 * VoxelBits::bytes(extent); }

 private:
  VoxelBits inside_{};
  VoxelBits outer_{};  // what is inside and not of the volume
  VoxelBits rows_{};
  VoxelBits slices_{};
};

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

}  // namespace
}  // namespace headrace::inline v1::detail

namespace headrace::inline v1 {
namespace {

class Skeletons {
 public:
  /// In place.
  void make(std::span<std::uint8_t> voxels, const GridExtent& extent, const SoftSkeleton& rule) {
    const bool cross = rule.operators == SoftSkeleton::Operators::cross;
    morphology_.begin(extent);
    volume_.mark(voxels, extent);
    for (VoxelBits* bits : {&eroded_, &opened_, &skeleton_})
      bits->clear(extent);
    for (int left = cross ? rule.iterations : rule.iterations - 1; left >= 0; --left) {
      cross ? morphology_.erode_cross(volume_, eroded_) : morphology_.erode_cube(volume_, eroded_);
      morphology_.dilate_cube(eroded_, opened_);
      add_opened_away();
      std::swap(volume_, eroded_);
    }
    skeleton_.put(voxels);
  }

 private:
  void add_opened_away() {
    const std::int64_t words = volume_.extent()[0] * volume_.slice_words();
    const std::uint64_t* volume = volume_.row(0, 0);
    const std::uint64_t* opened = opened_.row(0, 0);
    std::uint64_t* skeleton = skeleton_.row(0, 0);
    for (std::int64_t i = 0; i < words; ++i)
      skeleton[i] |= volume[i] & ~opened[i];
  }

  detail::BitMorphology morphology_{};
  VoxelBits volume_{};
  VoxelBits eroded_{};
  VoxelBits opened_{};
  VoxelBits skeleton_{};
};

}  // namespace

Schema SoftSkeleton::schema(const Schema& in) const {
  const FieldSpec& label = detail::label_field(in, field, name());
  if (iterations < 1 || iterations > 100) {
    throw ConfigError("[" + name() + "] iterations must be 1 to 100, got " +
                      std::to_string(iterations));
  }
  if (to == field) throw ConfigError("[" + name() + "] to must be another field than the label");
  return detail::with_target(in, label, to, DType::uint8);
}

std::size_t SoftSkeleton::working_bytes(const Schema& in) const {
  const GridExtent extent = detail::label_extent(detail::label_field(in, field, name()).shape);
  return detail::BitMorphology::bytes(extent) + 4 * VoxelBits::bytes(extent);
}

void SoftSkeleton::operator()(Sample& sample) const {
  static thread_local Skeletons skeletons;
  const Tensor label = detail::label_of(sample, field);
  auto* out = sample.make(to, DType::uint8, label.shape()).data<std::uint8_t>();
  detail::mark_labels(label, labels, ignore, out);
  skeletons.make({out, static_cast<std::size_t>(label.elements())},
                 detail::label_extent(label.shape()), *this);
}

}  // namespace headrace::inline v1
