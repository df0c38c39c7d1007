#pragma once

#include <headrace/engine/base/export.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace headrace::inline v1 {

/// Extents of a row-major tensor, outermost first: at most eight, held in place so that a copy
/// never allocates. Rank 0 is a scalar with one element.
class HEADRACE_API Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  /// Throws ConfigError for more than eight or negative extents.
  Shape(std::initializer_list<std::int64_t> extents);
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const noexcept { return rank_; }
  std::int64_t operator[](int axis) const noexcept {
    return extents_[static_cast<std::size_t>(axis)];
  }
  /// Product of the extents; throws ConfigError when it does not fit into 63 bits.
  std::int64_t elements() const;
  std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  /// The same shape with one more extent in front (a batch of such rows).
  Shape batched(std::int64_t rows) const;
  /// The shape without its first extent (a row of such a batch).
  Shape row() const;
  void set(int axis, std::int64_t extent);

  friend HEADRACE_API bool operator==(const Shape& a, const Shape& b) noexcept;

 private:
  std::array<std::int64_t, max_rank> extents_{};
  int rank_ = 0;
};

/// "[224, 224, 3]".
HEADRACE_API std::string to_string(const Shape& shape);

}  // namespace headrace::inline v1
