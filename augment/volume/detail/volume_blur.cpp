// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/portable_math.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/volume/detail/volume_blur.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {
namespace {  // other kernels' helpers have such names, too

namespace hn = hwy::HWY_NAMESPACE;

static std::int64_t reflected(std::int64_t i, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t period = 2 * (size - 1);
  i = ((i % period) + period) % period;
  return i < size ? i : period - i;
}

/// out[i] = weighted sum of row(-reach)[i] .. row(reach)[i]; `rows` points at the middle one. `out`
/// lies in none of them. kReach below 0: any.
template <int kReach>
void blend_rows(const float* const* rows, const BlurAxis& axis, std::int64_t count, float* out) {
  const int reach = kReach >= 0 ? kReach : axis.reach;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t done = 0;
  if (count >= lanes) {
    for (std::int64_t i = 0; i < count; i += lanes) {
      i = std::min(i, count - lanes);
      auto sum = hn::Mul(hn::LoadU(d, rows[0] + i), hn::Set(d, axis.weights[0]));
      for (int k = 1; k <= reach; ++k) {
        const auto both = hn::Add(hn::LoadU(d, rows[-k] + i), hn::LoadU(d, rows[k] + i));
        sum = hn::Add(sum, hn::Mul(both, hn::Set(d, axis.weights[static_cast<std::size_t>(k)])));
      }
      hn::StoreU(sum, d, out + i);
    }
    done = count;
  }
  for (; done < count; ++done) {
    float sum = rows[0][done] * axis.weights[0];
    for (int k = 1; k <= reach; ++k) {
      const float both = rows[-k][done] + rows[k][done];
      sum = sum + both * axis.weights[static_cast<std::size_t>(k)];
    }
    out[done] = sum;
  }
}

void blend(const float* const* rows, const BlurAxis& axis, std::int64_t count, float* out) {
  switch (axis.reach) {
    case 1:
      return blend_rows<1>(rows, axis, count, out);
    case 2:
      return blend_rows<2>(rows, axis, count, out);
    case 3:
      return blend_rows<3>(rows, axis, count, out);
    case 4:
      return blend_rows<4>(rows, axis, count, out);
    default:
      return blend_rows<-1>(rows, axis, count, out);
  }
}

/// A plane, already filtered along z, along y and x.
void filter_plane(const float* plane, const Voxels& shape, const std::array<BlurAxis, 3>& axes,
                  float* line, float* out) {
  const float* rows[most_volume_taps];
  const float** middle = rows + most_volume_taps / 2;
  const int reach = axes[2].reach;
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (int k = -axes[1].reach; k <= axes[1].reach; ++k)
      middle[k] = plane + reflected(y + k, shape.height) * shape.width;
    blend(middle, axes[1], shape.width, line);
    for (int k = -reach; k < 0; ++k)
      line[k] = line[reflected(k, shape.width)];
    for (std::int64_t x = shape.width; x < shape.width + reach; ++x)
      line[x] = line[reflected(x, shape.width)];
    for (int k = -reach; k <= reach; ++k)
      middle[k] = line + k;
    blend(middle, axes[2], shape.width, out + y * shape.width);
  }
}

/// Planes behind are needed after they were written anew: the last reach + 1 are kept in a ring.
void filter_volume(float* data, const Voxels& shape, const std::array<BlurAxis, 3>& axes,
                   float* memory) {
  const std::int64_t plane = shape.plane();
  const std::int64_t ring = std::min<std::int64_t>(axes[0].reach + 1, shape.depth);
  float* smooth = memory + ring * plane;
  float* line = smooth + plane + axes[2].reach;
  const float* rows[most_volume_taps];
  const float** middle = rows + most_volume_taps / 2;
  for (std::int64_t z = 0; z < shape.depth; ++z) {
    std::memcpy(memory + z % ring * plane, data + z * plane,
                static_cast<std::size_t>(plane) * sizeof(float));
    for (int k = -axes[0].reach; k <= axes[0].reach; ++k) {
      const std::int64_t from = reflected(z + k, shape.depth);
      middle[k] = from > z ? data + from * plane : memory + from % ring * plane;
    }
    blend(middle, axes[0], plane, smooth);
    filter_plane(smooth, shape, axes, line, data + z * plane);
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(filter_volume);

/// The odd number nearest to n, which is rounded with halves to even.
int nearest_odd(double n) {
  const auto rounded = static_cast<int>(std::nearbyint(n));
  if (rounded % 2 == 1) return rounded;
  return n - rounded >= 0 ? rounded + 1 : rounded - 1;
}

}  // namespace

BlurAxis blur_axis(double deviation) {
  BlurAxis axis;
  const int taps = std::clamp(nearest_odd(deviation * 6 + 0.5), 1, most_volume_taps);
  axis.reach = taps / 2;
  std::array<double, most_volume_taps / 2 + 1> values{};
  double sum = 0;
  for (int k = 0; k <= axis.reach; ++k) {
    const double x = k / deviation;
    values[static_cast<std::size_t>(k)] = exponential(-0.5 * x * x);
    sum += (k == 0 ? 1 : 2) * values[static_cast<std::size_t>(k)];
  }
  for (std::size_t k = 0; k <= static_cast<std::size_t>(axis.reach); ++k)
    axis.weights[k] = static_cast<float>(values[k] / sum);
  return axis;
}

std::size_t blur_values(const Voxels& shape, const std::array<BlurAxis, 3>& axes) {
  const std::int64_t ring = std::min<std::int64_t>(axes[0].reach + 1, shape.depth);
  return static_cast<std::size_t>((ring + 1) * shape.plane() + shape.width + 2 * axes[2].reach);
}

bool blur_channel(float* data, const Voxels& shape, const std::array<BlurAxis, 3>& axes,
                  int target) {
  static thread_local Scratch scratch;
  if (shape.count() == 0) return true;
  auto* memory = scratch.reserve<float>(blur_values(shape, axes));
  HEADRACE_RUN(filter_volume, data, shape, axes, memory);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
