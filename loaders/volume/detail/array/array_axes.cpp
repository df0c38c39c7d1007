#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/detail/array/array_axes.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

namespace headrace::inline v1::detail {
namespace {

constexpr std::string_view names_of_axes = "czyx";

void require_rank(std::size_t rank) {
  if (rank < 2 || rank > ArrayAxes::most_rank)
    throw DataError("the array must have 2 to 5 axes (t, c, z, y, x), got " + std::to_string(rank));
}

void require_one(std::int64_t extent, const std::string& axis) {
  if (extent == 1) return;
  throw DataError("the axis " + axis + " must have one element, got " + std::to_string(extent) +
                  "; write a volume for each");
}

/// Elements of `Bytes` bytes, `stride` of them apart.
template <std::size_t Bytes>
void copy_row(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t count) {
  const auto step = stride * static_cast<std::int64_t>(Bytes);
  for (std::int64_t i = 0; i < count; ++i, from += step, to += Bytes)
    std::memcpy(to, from, Bytes);
}

void copy_row(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t count,
              std::size_t element) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * element);
    return;
  }
  switch (element) {
    case 1:
      return copy_row<1>(from, stride, to, count);
    case 2:
      return copy_row<2>(from, stride, to, count);
    case 4:
      return copy_row<4>(from, stride, to, count);
    default:
      return copy_row<8>(from, stride, to, count);
  }
}

}  // namespace

ArrayAxes::ArrayAxes(std::span<const std::int64_t> shape) {
  require_rank(shape.size());
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::size_t from_end = shape.size() - axis;
    if (from_end > 4) require_one(shape[axis], std::to_string(axis) + " of 5");
    axes_.push_back(from_end > 4 ? none : static_cast<int>(4 - from_end));
  }
}

ArrayAxes::ArrayAxes(std::span<const std::int64_t> shape, std::span<const std::string> names) {
  require_rank(shape.size());
  if (names.size() != shape.size()) {
    throw DataError("the metadata must name the array's " + std::to_string(shape.size()) +
                    " axes, got " + std::to_string(names.size()) + " names");
  }
  unsigned seen = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (names[axis] == "t") {
      require_one(shape[axis], "t");
      axes_.push_back(none);
      continue;
    }
    const auto known =
        names[axis].size() == 1 ? names_of_axes.find(names[axis][0]) : std::string_view::npos;
    if (known == std::string_view::npos || (seen >> known & 1U) != 0) {
      throw DataError("the axes must be some of t, c, z, y, x, each once, got " +
                      detail::quoted(names[axis]));
    }
    seen |= 1U << known;
    axes_.push_back(static_cast<int>(known));
  }
}

VolumeIndex ArrayAxes::volume(std::span<const std::int64_t> of_array) const {
  VolumeIndex all{1, 1, 1, 1};
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis] != none) all[static_cast<std::size_t>(axes_[axis])] = of_array[axis];
  return all;
}

std::vector<std::int64_t> ArrayAxes::array(const VolumeIndex& of_volume) const {
  std::vector<std::int64_t> all(axes_.size(), 0);
  for (std::size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis] != none) all[axis] = of_volume[static_cast<std::size_t>(axes_[axis])];
  return all;
}

std::vector<std::size_t> row_order(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

BoxLayout::BoxLayout(const ArrayAxes& axes, std::span<const std::int64_t> box,
                     std::span<const std::size_t> order, std::size_t element_bytes)
    : shape_(axes.volume(box)), element_(element_bytes) {
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (axes.axis(order[i]) != ArrayAxes::none)
      strides_[static_cast<std::size_t>(axes.axis(order[i]))] = stride;
    stride *= box[order[i]];
  }
  bytes_ = static_cast<std::size_t>(stride) * element_;
  same_ = bytes_ == static_cast<std::size_t>(voxels_of(shape_)) * element_;
  stride = 1;
  for (std::size_t axis = 4; axis-- > 0;) {
    same_ = same_ && (shape_[axis] == 1 || strides_[axis] == stride);
    stride *= shape_[axis];
  }
}

void BoxLayout::copy(const std::byte* from, std::byte* to, const VolumeIndex& block,
                     const VolumeIndex& at) const {
  const auto element = static_cast<std::int64_t>(element_);
  const std::int64_t x_stride = shape_[3] == 1 ? 1 : strides_[3];
  VolumeIndex count{};
  for (std::size_t axis = 0; axis < 4; ++axis)
    count[axis] = std::min(shape_[axis], block[axis] - at[axis]);
  for (std::int64_t c = 0; c < count[0]; ++c) {
    for (std::int64_t z = 0; z < count[1]; ++z) {
      for (std::int64_t y = 0; y < count[2]; ++y) {
        const std::int64_t source = c * strides_[0] + z * strides_[1] + y * strides_[2];
        const std::int64_t row = ((at[0] + c) * block[1] + at[1] + z) * block[2] + at[2] + y;
        copy_row(from + source * element, x_stride, to + (row * block[3] + at[3]) * element,
                 count[3], element_);
      }
    }
  }
}

}  // namespace headrace::inline v1::detail
