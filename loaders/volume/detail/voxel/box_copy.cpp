#include <headrace/loaders/volume/detail/voxel/box_copy.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace headrace::inline v1::detail {

void fill_voxels(std::byte* to, std::int64_t count, const std::byte* value,
                 std::size_t bytes) noexcept {
  if (count <= 0) return;
  const auto all = static_cast<std::size_t>(count) * bytes;
  if (std::all_of(value, value + bytes, [&](std::byte byte) { return byte == *value; })) {
    std::memset(to, std::to_integer<int>(*value), all);
    return;
  }
  std::memcpy(to, value, bytes);
  for (std::size_t done = bytes; done < all; done *= 2)  // what is there, once more
    std::memcpy(to + done, to, std::min(done, all - done));
}

namespace {

/// Both ends of a row whose voxels [begin, end) of `count` are there.
void finish_row(std::byte* row, std::int64_t count, const VolumeBox& inside, const Outside& outside,
                std::size_t bytes) noexcept {
  const std::int64_t begin = inside.begin[3], end = inside.end[3];
  const auto step = static_cast<std::int64_t>(bytes);
  const bool edge = outside.rule == Outside::Rule::edge;
  fill_voxels(row, begin, edge ? row + begin * step : outside.fill.data(), bytes);
  fill_voxels(row + end * step, count - end, edge ? row + (end - 1) * step : outside.fill.data(),
              bytes);
}

/// Fills a box of one value; all of it.
void fill_box(const BoxMemory& to, const VolumeIndex& shape, const Outside& outside,
              std::size_t bytes) noexcept {
  for (std::int64_t c = 0; c < shape[0]; ++c)
    for (std::int64_t z = 0; z < shape[1]; ++z)
      for (std::int64_t y = 0; y < shape[2]; ++y)
        fill_voxels(voxel_of(to, {c, z, y, 0}, bytes), shape[3], outside.fill.data(), bytes);
}

/// Makes the parts at [0, begin) and [end, count) of an axis, whole on the axes behind it, out of
/// the part between them.
void finish_axis(const BoxMemory& to, VolumeIndex shape, std::size_t axis, const VolumeBox& inside,
                 const Outside& outside, std::size_t bytes) noexcept {
  const std::int64_t count = shape[axis];
  shape[axis] = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i >= inside.begin[axis] && i < inside.end[axis]) continue;
    VolumeIndex at{};
    at[axis] = i;
    BoxMemory target = to;
    target.voxels = voxel_of(to, at, bytes);
    if (outside.rule == Outside::Rule::fill) {
      fill_box(target, shape, outside, bytes);
      continue;
    }
    BoxMemory source = to;
    at[axis] = std::clamp(i, inside.begin[axis], inside.end[axis] - 1);
    source.voxels = voxel_of(to, at, bytes);
    copy_box(source, target, shape, bytes);
  }
}

}  // namespace

void copy_box(const BoxMemory& from, const BoxMemory& to, const VolumeIndex& shape,
              std::size_t voxel_bytes) noexcept {
  VolumeIndex count = shape;
  std::int64_t run = count[3] * static_cast<std::int64_t>(voxel_bytes);
  const auto merge = [&](std::size_t axis, std::int64_t from_step, std::int64_t to_step) {
    if (from_step != run || to_step != run) return false;
    run *= count[axis];
    count[axis] = 1;
    return true;
  };
  if (merge(2, from.row_step, to.row_step) && merge(1, from.slice_step, to.slice_step))
    merge(0, from.channel_step, to.channel_step);
  for (std::int64_t c = 0; c < count[0]; ++c) {
    for (std::int64_t z = 0; z < count[1]; ++z) {
      const std::byte* source = from.voxels + c * from.channel_step + z * from.slice_step;
      std::byte* target = to.voxels + c * to.channel_step + z * to.slice_step;
      for (std::int64_t y = 0; y < count[2]; ++y, source += from.row_step, target += to.row_step)
        std::memcpy(target, source, static_cast<std::size_t>(run));
    }
  }
}

void fill_outside(const BoxMemory& to, const VolumeIndex& shape, const VolumeBox& inside,
                  const Outside& outside, std::size_t voxel_bytes) noexcept {
  const bool whole_rows = inside.begin[3] == 0 && inside.end[3] == shape[3];
  for (std::int64_t c = inside.begin[0]; c < inside.end[0] && !whole_rows; ++c)
    for (std::int64_t z = inside.begin[1]; z < inside.end[1]; ++z)
      for (std::int64_t y = inside.begin[2]; y < inside.end[2]; ++y)
        finish_row(voxel_of(to, {c, z, y, 0}, voxel_bytes), shape[3], inside, outside, voxel_bytes);
  // Each axis in turn, innermost first, over the part that is there on the axes before it.
  for (std::size_t axis = 3; axis-- > 0;) {
    BoxMemory part = to;
    VolumeIndex there = shape;
    VolumeIndex first{};
    for (std::size_t before = 0; before < axis; ++before) {
      first[before] = inside.begin[before];
      there[before] = inside.end[before] - inside.begin[before];
    }
    part.voxels = voxel_of(to, first, voxel_bytes);
    finish_axis(part, there, axis, inside, outside, voxel_bytes);
  }
}

}  // namespace headrace::inline v1::detail
