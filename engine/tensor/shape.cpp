#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/shape.h>

#include <algorithm>
#include <limits>

namespace headrace::inline v1 {

Shape::Shape(std::initializer_list<std::int64_t> extents)
    : Shape(std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  if (extents.size() > max_rank) {
    throw ConfigError("[shape] a shape has at most 8 extents, got " +
                      std::to_string(extents.size()));
  }
  rank_ = static_cast<int>(extents.size());
  for (int axis = 0; axis < rank_; ++axis)
    set(axis, extents[static_cast<std::size_t>(axis)]);
}

std::int64_t Shape::elements() const {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = 1;
  bool too_many = false;
  for (const std::int64_t extent : extents()) {
    if (extent == 0) return 0;
    too_many = too_many || product > most / extent;
    if (!too_many) product *= extent;
  }
  if (too_many) {
    throw ConfigError("[shape] the elements of a shape must fit into 63 bits, got " +
                      to_string(*this));
  }
  return product;
}

Shape Shape::batched(std::int64_t rows) const {
  if (rank_ == max_rank) {
    throw ConfigError("[shape] a batch of " + to_string(*this) +
                      " would have 9 extents; a row has at most 7");
  }
  Shape result;
  result.rank_ = rank_ + 1;
  result.set(0, rows);
  std::copy_n(extents_.begin(), rank_, result.extents_.begin() + 1);
  return result;
}

Shape Shape::row() const {
  if (rank_ == 0) throw ConfigError("[shape] a scalar has no rows");
  Shape result;
  result.rank_ = rank_ - 1;
  std::copy_n(extents_.begin() + 1, result.rank_, result.extents_.begin());
  return result;
}

void Shape::set(int axis, std::int64_t extent) {
  if (axis < 0 || axis >= rank_) {
    throw ConfigError("[shape] axis " + std::to_string(axis) + " of a shape with " +
                      std::to_string(rank_) + " extents");
  }
  if (extent < 0) {
    throw ConfigError("[shape] an extent is at least 0, got " + std::to_string(extent));
  }
  extents_[static_cast<std::size_t>(axis)] = extent;
}

bool operator==(const Shape& a, const Shape& b) noexcept {
  return std::ranges::equal(a.extents(), b.extents());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "]";
}

}  // namespace headrace::inline v1
