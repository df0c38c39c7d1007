// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/scratch.h>
#include <headrace/augment/volume/detail/volume_filters.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/volume/detail/low_resolution.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef HEADRACE_LOW_RESOLUTION_TASK
#define HEADRACE_LOW_RESOLUTION_TASK
namespace headrace::inline v1::detail {

/// The taps along x, apart, so that vectors of them can be loaded.
struct LineTaps {
  std::int32_t* first;
  std::int32_t* second;
  float* of_first;
  float* of_second;
};

struct LowResolutionTask {
  float* data;
  Voxels shape;
  Voxels small;  ///< with its values
  float* wide;   ///< small.height rows, made as wide as the volume
  float* planes[2];
  LineTaps taps;
};

}  // namespace headrace::inline v1::detail
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {
namespace {  // other kernels' helpers have such names, too

namespace hn = hwy::HWY_NAMESPACE;

/// out[i] = a[i] * wa + b[i] * wb; `out` lies in neither.
void mix_rows(const float* a, const float* b, const LinearTap& tap, std::int64_t count,
              float* out) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t done = 0;
  if (count >= lanes) {
    const auto wa = hn::Set(d, tap.of_first);
    const auto wb = hn::Set(d, tap.of_second);
    for (std::int64_t i = 0; i < count; i += lanes) {
      i = std::min(i, count - lanes);
      hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, a + i), wa), hn::Mul(hn::LoadU(d, b + i), wb)), d,
                 out + i);
    }
    done = count;
  }
  for (; done < count; ++done)
    out[done] = a[done] * tap.of_first + b[done] * tap.of_second;
}

void widen_row(const float* from, const LineTaps& taps, std::int64_t count, float* out) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto a = hn::GatherIndex(d, from, hn::LoadU(di, taps.first + i));
    const auto b = hn::GatherIndex(d, from, hn::LoadU(di, taps.second + i));
    hn::StoreU(hn::Add(hn::Mul(a, hn::LoadU(d, taps.of_first + i)),
                       hn::Mul(b, hn::LoadU(d, taps.of_second + i))),
               d, out + i);
  }
  for (; i < count; ++i) {
    const float a = from[taps.first[i]] * taps.of_first[i];
    out[i] = a + from[taps.second[i]] * taps.of_second[i];
  }
}

void make_plane(const LowResolutionTask& task, std::int64_t z, float* out) {
  const Voxels& small = task.small;
  const std::int64_t width = task.shape.width;
  for (std::int64_t y = 0; y < small.height; ++y) {
    widen_row(small.data + (z * small.height + y) * small.width, task.taps, width,
              task.wide + y * width);
  }
  for (std::int64_t y = 0; y < task.shape.height; ++y) {
    const LinearTap tap = linear_tap(y, small.height, task.shape.height);
    mix_rows(task.wide + tap.first * width, task.wide + tap.second * width, tap, width,
             out + y * width);
  }
}

/// Plane z of the small volume is made once: both taps move only forward.
void raise_resolution(const LowResolutionTask& task) {
  std::int64_t made[2] = {-1, -1};
  const auto plane = [&](std::int64_t z) {
    float* at = task.planes[z % 2];
    if (made[z % 2] != z) make_plane(task, z, at);
    made[z % 2] = z;
    return at;
  };
  for (std::int64_t z = 0; z < task.shape.depth; ++z) {
    const LinearTap tap = linear_tap(z, task.small.depth, task.shape.depth);
    const float* first = plane(tap.first);
    const float* second = plane(tap.second);
    mix_rows(first, second, tap, task.shape.plane(), task.data + z * task.shape.plane());
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(raise_resolution);

void make_taps(const LowResolutionTask& task) {
  for (std::int64_t x = 0; x < task.shape.width; ++x) {
    const LinearTap tap = linear_tap(x, task.small.width, task.shape.width);
    task.taps.first[x] = tap.first;
    task.taps.second[x] = tap.second;
    task.taps.of_first[x] = tap.of_first;
    task.taps.of_second[x] = tap.of_second;
  }
}

}  // namespace

std::int64_t zoomed_size(std::int64_t size, float zoom) {
  const double wanted = std::nearbyint(static_cast<double>(size) * static_cast<double>(zoom));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

std::int64_t nearest_exact(std::int64_t at, std::int64_t from, std::int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float place = (static_cast<float>(at) + 0.5F) * scale;
  return std::min(static_cast<std::int64_t>(std::floor(place)), from - 1);
}

LinearTap linear_tap(std::int64_t at, std::int64_t from, std::int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  const float middle = scale * (static_cast<float>(at) + 0.5F);
  const float place = std::max(middle - 0.5F, 0.0F);
  const auto last = static_cast<std::int32_t>(from - 1);
  const std::int32_t first = std::min(static_cast<std::int32_t>(place), last);
  const float share = std::clamp(place - static_cast<float>(first), 0.0F, 1.0F);
  return {first, std::min(first + 1, last), 1.0F - share, share};
}

std::size_t low_resolution_values(const Voxels& shape, const std::array<std::int64_t, 3>& small) {
  return static_cast<std::size_t>(small[0] * small[1] * small[2] + small[1] * shape.width +
                                  2 * shape.plane() + 4 * shape.width);
}

bool lower_resolution(float* data, const Voxels& shape, const std::array<std::int64_t, 3>& small,
                      int target) {
  static thread_local Scratch scratch;
  if (shape.count() == 0) return true;
  auto* memory = scratch.reserve<float>(low_resolution_values(shape, small));
  LowResolutionTask task{.data = data,
                         .shape = shape,
                         .small = {nullptr, 1, small[0], small[1], small[2]},
                         .wide = memory + 2 * shape.plane() + 4 * shape.width,
                         .planes = {memory, memory + shape.plane()},
                         .taps = {}};
  float* taps = memory + 2 * shape.plane();
  task.taps = {.first = reinterpret_cast<std::int32_t*>(taps),
               .second = reinterpret_cast<std::int32_t*>(taps + shape.width),
               .of_first = taps + 2 * shape.width,
               .of_second = taps + 3 * shape.width};
  task.small.data = task.wide + small[1] * shape.width;
  const GridChange change{{shape.depth, shape.height, shape.width}, small};
  take_nearest(data, change, task.taps.first, task.small.data);
  make_taps(task);
  HEADRACE_RUN(raise_resolution, task);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
