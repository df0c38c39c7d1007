#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

// What loops over the rows of contiguous `[M, D, H, W]` have in common.
namespace headrace::inline v1::models::detail {

/// Calls `work(begin, end)` on parts of [0, count) that are `least` long or longer, on LibTorch's
/// threads, and returns when all is done. `at::parallel_for` is serial where it is compiled without
/// OpenMP.
void on_threads(std::int64_t count, std::int64_t least,
                c10::function_ref<void(std::int64_t begin, std::int64_t end)> work);

/// An integer as wide as T: loops over both stay vectors.
template <typename T>
using Lane = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// What lies beside each other along an axis.
template <typename T>
struct Three {
  T here = {};
  T before = {};
  T behind = {};
};

struct Extent {
  explicit Extent(const at::Tensor& maps)
      : planes(maps.size(0) * maps.size(1)),
        depth(maps.size(1)),
        height(maps.size(2)),
        width(maps.size(3)) {}

  std::int64_t plane() const { return height * width; }

  /// Numbers of the planes around one, itself where there is none.
  Three<std::int64_t> along_z(std::int64_t at) const {
    const std::int64_t z = at % depth;
    return {.here = at, .before = at - (z > 0), .behind = at + (z + 1 < depth)};
  }
  /// Numbers of the rows around one of its plane, itself where there is none.
  Three<std::int64_t> along_y(std::int64_t y) const {
    return {.here = y, .before = y - (y > 0), .behind = y + (y + 1 < height)};
  }

  std::int64_t planes;  ///< of all maps
  std::int64_t depth;
  std::int64_t height;
  std::int64_t width;
};

/// Calls `work(begin, end)` on planes, on LibTorch's threads.
template <typename Work>
void on_planes(const Extent& extent, const Work& work) {
  constexpr std::int64_t worth_a_thread = 32768;
  const std::int64_t values = std::max<std::int64_t>(extent.plane(), 1);
  on_threads(extent.planes, std::max<std::int64_t>(worth_a_thread / values, 1), work);
}

/// A row between two ends.
template <typename T>
void pad_row(const T* row, std::int64_t width, T* padded, const Three<T>& ends) {
  padded[0] = ends.before;
  std::copy_n(row, width, padded + 1);
  padded[width + 1] = ends.behind;
}

/// `pointer + offset`, nothing of nothing.
template <typename T>
T* beyond(T* pointer, std::int64_t offset) {
  return pointer == nullptr ? nullptr : pointer + offset;
}

}  // namespace headrace::inline v1::models::detail
