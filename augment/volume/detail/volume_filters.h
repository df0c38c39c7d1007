#pragma once

#include <headrace/augment/volume/detail/voxels.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Taps that a kernel may have on one axis.
inline constexpr int most_volume_taps = 127;

/// Half of a symmetric kernel: weight 0 is the middle one.
struct BlurAxis {
  int reach = 0;  ///< 0: the axis is left as it is
  std::array<float, most_volume_taps / 2 + 1> weights{};
};

/// A Gaussian as batchgeneratorsv2 cuts it: as many taps as the odd number nearest to
/// 6 * deviation + 0.5, the sum 1.
BlurAxis blur_axis(double deviation);

/// Filters one channel in place along z, y and x, each rounded to float32; the border is reflected
/// without its own value, as often as a short axis needs. Tap k adds weight k * (before + behind).
/// In memory of the thread, blur_values() floats. On the best vector target, or on the given one;
/// false when there is none of that number.
bool blur_channel(float* data, const Voxels& shape, const std::array<BlurAxis, 3>& axes,
                  int target = -1);
std::size_t blur_values(const Voxels& shape, const std::array<BlurAxis, 3>& axes);

/// The size that a side of `size` has at that zoom: at least 1, halves to even.
std::int64_t zoomed_size(std::int64_t size, float zoom);

/// PyTorch's rules for one axis of `from` values made `to` values.
std::int64_t nearest_exact(std::int64_t at, std::int64_t from, std::int64_t to);
struct LinearTap {
  std::int32_t first = 0;
  std::int32_t second = 0;
  float of_first = 1.0F;
  float of_second = 0.0F;
};
LinearTap linear_tap(std::int64_t at, std::int64_t from, std::int64_t to);

/// From one grid to another.
struct GridChange {
  std::array<std::int64_t, 3> from;
  std::array<std::int64_t, 3> to;
};

/// nearest_exact() along each axis; `columns` is memory for one row of `to`.
template <class Value, class Index>
void take_nearest(const Value* values, const GridChange& change, Index* columns, Value* out) {
  const auto& [from, to] = change;
  for (std::int64_t x = 0; x < to[2]; ++x)
    columns[x] = static_cast<Index>(nearest_exact(x, from[2], to[2]));
  for (std::int64_t z = 0; z < to[0]; ++z) {
    const Value* plane = values + nearest_exact(z, from[0], to[0]) * from[1] * from[2];
    for (std::int64_t y = 0; y < to[1]; ++y) {
      const Value* row = plane + nearest_exact(y, from[1], to[1]) * from[2];
      for (std::int64_t x = 0; x < to[2]; ++x)
        *out++ = row[columns[x]];
    }
  }
}

/// Makes one channel {depth, height, width} of `small` by nearest-exact choice, then of the former
/// size again by trilinear interpolation, align_corners false: x, then y, then z. In memory of the
/// thread, low_resolution_values() floats. Targets as above.
bool lower_resolution(float* data, const Voxels& shape, const std::array<std::int64_t, 3>& small,
                      int target = -1);
std::size_t low_resolution_values(const Voxels& shape, const std::array<std::int64_t, 3>& small);

}  // namespace headrace::inline v1::detail
