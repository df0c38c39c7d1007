#include <headrace/augment/volume/detail/occlusion.h>
#include <headrace/engine/base/random.h>

#include <algorithm>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

/// to[x] = from[x - shift], the border's value beyond; the rows may be one.
template <class Value>
void shift_row(const Value* from, Value* to, std::int64_t width, std::int64_t shift) {
  shift = std::clamp(shift, 1 - width, width - 1);
  const std::int64_t kept = width - std::abs(shift);
  const Value edge = shift > 0 ? from[0] : from[width - 1];
  const Value* first = from + std::max<std::int64_t>(0, -shift);
  std::memmove(to + std::max<std::int64_t>(0, shift), first,
               static_cast<std::size_t>(kept) * sizeof(Value));
  std::fill_n(shift > 0 ? to : to + kept, std::abs(shift), edge);
}

/// Rows are written in the order in which none is read after it was written.
template <class Value>
void shift_plane(Value* plane, std::int64_t height, std::int64_t width, const SliceShift& shift) {
  for (std::int64_t i = 0; i < height; ++i) {
    const std::int64_t y = shift.y > 0 ? height - 1 - i : i;
    const std::int64_t from = std::clamp<std::int64_t>(y - shift.y, 0, height - 1);
    shift_row(plane + from * width, plane + y * width, width, shift.x);
  }
}

template <class Value>
void shift_slices(const SliceJitterParameters& drawn, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const std::int64_t depth = shape[shape.rank() - 3];
  const std::int64_t height = shape[shape.rank() - 2];
  const std::int64_t width = shape[shape.rank() - 1];
  auto* values = static_cast<Value*>(tensor.raw());
  const std::int64_t slices = tensor.elements() / (height * width);
  for (std::int64_t i = 0; i < slices; ++i)
    shift_plane(values + i * height * width, height, width, slice_shift(drawn, i % depth));
}

void fill_box(const VoxelBox& box, float fill, const Voxels& voxels) {
  for (std::int64_t c = 0; c < voxels.channels; ++c) {
    for (std::int64_t z = box.from[0]; z < box.from[0] + box.size[0]; ++z) {
      for (std::int64_t y = box.from[1]; y < box.from[1] + box.size[1]; ++y) {
        float* row = voxels.channel(c) + z * voxels.plane() + y * voxels.width;
        std::fill_n(row + box.from[2], box.size[2], fill);
      }
    }
  }
}

}  // namespace

SliceShift slice_shift(const SliceJitterParameters& drawn, std::int64_t z) {
  const auto words = philox4x32_10({static_cast<std::uint32_t>(z), 0, 0, 0}, drawn.key);
  const auto pick = [&](std::uint32_t word) {
    const auto choices = static_cast<std::uint64_t>(2 * drawn.most + 1);
    return static_cast<std::int64_t>(word * choices >> 32) - drawn.most;
  };
  return {pick(words[0]), pick(words[1])};
}

void apply(const SliceJitterParameters& drawn, const Tensor& tensor) {
  if (!drawn.moves || tensor.elements() == 0) return;
  switch (size_of(tensor.dtype())) {
    case 1:
      return shift_slices<std::uint8_t>(drawn, tensor);
    case 2:
      return shift_slices<std::uint16_t>(drawn, tensor);
    case 4:
      return shift_slices<std::uint32_t>(drawn, tensor);
    default:
      return shift_slices<std::uint64_t>(drawn, tensor);
  }
}

void apply(const VolumeCutoutParameters& drawn, const Voxels& voxels) {
  for (int i = 0; i < drawn.count; ++i)
    fill_box(drawn.boxes[static_cast<std::size_t>(i)], drawn.fill, voxels);
}

void apply(const PatchDropoutParameters& drawn, const Voxels& voxels) {
  const std::array<std::int64_t, 3> sides = {voxels.depth, voxels.height, voxels.width};
  const std::int64_t count = drawn.cells[0] * drawn.cells[1] * drawn.cells[2];
  for (std::int64_t i = 0; i < count; ++i) {
    if ((drawn.dropped[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1U) == 0) continue;
    const std::array<std::int64_t, 3> at = {i / (drawn.cells[1] * drawn.cells[2]),
                                            i / drawn.cells[2] % drawn.cells[1],
                                            i % drawn.cells[2]};
    VoxelBox box;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.from[axis] = at[axis] * drawn.cell[axis];
      box.size[axis] = std::min(drawn.cell[axis], sides[axis] - box.from[axis]);
    }
    fill_box(box, drawn.fill, voxels);
  }
}

}  // namespace headrace::inline v1::detail
