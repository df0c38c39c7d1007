#include <headrace/augment/volume/detail/intensity_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr unsigned warps = 8;
constexpr unsigned lanes = 32;
constexpr int flight = 4;  // values of a lane that are worked on at once

/// A line along x, which a warp takes.
struct Line {
  std::int64_t row;
  int z;
  int y;
};

__device__ Line line_of(const IntensityTask& task, std::int64_t first) {
  const std::int64_t number = first + static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.y;
  const std::int64_t plane = number / task.extent[1];
  const std::int64_t row = plane / task.extent[0];
  return {row, static_cast<int>(plane - row * task.extent[0]),
          static_cast<int>(number - plane * task.extent[1])};
}

/// The border is reflected without its own value, as often as it takes.
__device__ int reflected(int i, int size) {
  if (i >= 0 && i < size) return i;
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  i = (i % period + period) % period;
  return i < size ? i : period - i;
}

/// Along an axis, between image and scratch in turn, so that the last result is in the scratch.
template <int kAxis>
__global__ void __launch_bounds__(warps* lanes)
    blur(const __grid_constant__ IntensityTask task, std::int64_t first) {
  const Line line = line_of(task, first);
  if (line.row >= task.rows) return;
  const IntensityPlan& plan = task.plans[line.row];
  if ((plan.parts & task.parts & IntensityPlan::blur) == 0) return;
  const int depth = task.extent[0];
  const int height = task.extent[1];
  const int width = task.extent[2];
  const std::int64_t plane = static_cast<std::int64_t>(height) * width;
  const std::int64_t begin = line.row * depth * plane;
  const std::int64_t here = begin + line.z * plane + static_cast<std::int64_t>(line.y) * width;
  const float* const from = kAxis == 1 ? task.scratch : task.image;
  float* const to = (kAxis == 1 ? task.image : task.scratch) + here;
  const float* const weights = plan.weights[kAxis];
  const int reach = plan.reach[kAxis];
  for (int x = static_cast<int>(threadIdx.x); x < width; x += flight * static_cast<int>(lanes)) {
    float sums[flight];
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      const int at = x + i * static_cast<int>(lanes);
      sums[i] = at < width ? __fmul_rn(from[here + at], weights[0]) : 0.0F;
    }
    for (int k = 1; k <= reach; ++k) {
      std::int64_t before = here;
      std::int64_t behind = here;
      if (kAxis == 0) {
        before += (reflected(line.z - k, depth) - line.z) * plane;
        behind += (reflected(line.z + k, depth) - line.z) * plane;
      }
      if (kAxis == 1) {
        before += static_cast<std::int64_t>(reflected(line.y - k, height) - line.y) * width;
        behind += static_cast<std::int64_t>(reflected(line.y + k, height) - line.y) * width;
      }
#pragma unroll
      for (int i = 0; i < flight; ++i) {
        const int at = x + i * static_cast<int>(lanes);
        if (at >= width) continue;
        const float a = from[before + (kAxis == 2 ? reflected(at - k, width) : at)];
        const float b = from[behind + (kAxis == 2 ? reflected(at + k, width) : at)];
        sums[i] = __fadd_rn(sums[i], __fmul_rn(__fadd_rn(a, b), weights[k]));
      }
    }
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      const int at = x + i * static_cast<int>(lanes);
      if (at < width) to[at] = sums[i];
    }
  }
}

/// Along one axis of `large` voxels made `small`, then `large` again.
struct Zoom {
  int large;
  int small;
  float down;  ///< large / small
  float up;    ///< small / large
};

__device__ Zoom zoom_of(int large, int small) {
  const auto many = static_cast<float>(large);
  const auto few = static_cast<float>(small);
  return {large, small, __fdiv_rn(many, few), __fdiv_rn(few, many)};
}

/// The two voxels of the large axis that one is blended from, and their weights.
struct Taps {
  int first;
  int second;
  float of_first;
  float of_second;
};

__device__ int nearest_exact(int at, const Zoom& zoom) {
  const float place = __fmul_rn(__fadd_rn(static_cast<float>(at), 0.5F), zoom.down);
  return min(static_cast<int>(floorf(place)), zoom.large - 1);
}

__device__ Taps taps_of(int at, const Zoom& zoom) {
  const float middle = __fmul_rn(zoom.up, __fadd_rn(static_cast<float>(at), 0.5F));
  const float place = fmaxf(__fsub_rn(middle, 0.5F), 0.0F);
  const int last = zoom.small - 1;
  const int first = min(static_cast<int>(place), last);
  const float share = fminf(fmaxf(__fsub_rn(place, static_cast<float>(first)), 0.0F), 1.0F);
  return {nearest_exact(first, zoom), nearest_exact(min(first + 1, last), zoom),
          __fsub_rn(1.0F, share), share};
}

__device__ float mix(float a, float b, const Taps& taps) {
  return __fadd_rn(__fmul_rn(a, taps.of_first), __fmul_rn(b, taps.of_second));
}

/// Each value straight from the eight of the image that its neighbours in the small volume are.
__global__ void __launch_bounds__(warps* lanes)
    lower(const __grid_constant__ IntensityTask task, std::int64_t first) {
  const Line line = line_of(task, first);
  if (line.row >= task.rows) return;
  const IntensityPlan& plan = task.plans[line.row];
  if ((plan.parts & task.parts & IntensityPlan::low_resolution) == 0) return;
  const int height = task.extent[1];
  const int width = task.extent[2];
  const std::int64_t plane = static_cast<std::int64_t>(height) * width;
  const std::int64_t begin = line.row * task.extent[0] * plane;
  const Taps z = taps_of(line.z, zoom_of(task.extent[0], plan.small[0]));
  const Taps y = taps_of(line.y, zoom_of(height, plan.small[1]));
  const Zoom along = zoom_of(width, plan.small[2]);
  const float* rows[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const std::int64_t of_z = i < 2 ? z.first : z.second;
    const std::int64_t of_y = i % 2 == 0 ? y.first : y.second;
    rows[i] = task.image + begin + of_z * plane + of_y * width;
  }
  float* const to =
      task.scratch + begin + line.z * plane + static_cast<std::int64_t>(line.y) * width;
  for (int at = static_cast<int>(threadIdx.x); at < width; at += static_cast<int>(lanes)) {
    const Taps x = taps_of(at, along);
    float mixed[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      mixed[i] = mix(rows[i][x.first], rows[i][x.second], x);
    to[at] = mix(mix(mixed[0], mixed[1], y), mix(mixed[2], mixed[3], y), z);
  }
}

using LineKernel = void (*)(IntensityTask, std::int64_t);

int run_lines(LineKernel kernel, const IntensityTask& task, cudaStream_t stream) {
  constexpr std::int64_t most = (std::int64_t{1} << 30) * warps;  // lines of a launch
  const std::int64_t lines = task.rows * task.extent[0] * task.extent[1];
  for (std::int64_t first = 0; first < lines; first += most) {
    const std::int64_t part = std::min(most, lines - first);
    const auto blocks = static_cast<unsigned>((part + warps - 1) / warps);
    const cudaError_t status = launch_grid(kernel, {{blocks}, {lanes, warps}, stream}, task, first);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

int run_blur(const IntensityTask& task, cudaStream_t stream) {
  constexpr LineKernel kernels[] = {blur<0>, blur<1>, blur<2>};
  return run_lines(kernels[task.axis], task, stream);
}

int run_lower(const IntensityTask& task, cudaStream_t stream) {
  return run_lines(lower, task, stream);
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_volume_blur(const void* task, void* stream) {
  using headrace::detail::IntensityTask;
  return headrace::detail::run_blur(*static_cast<const IntensityTask*>(task),
                                    static_cast<cudaStream_t>(stream));
}

extern "C" HEADRACE_API int headrace_low_resolution(const void* task, void* stream) {
  using headrace::detail::IntensityTask;
  return headrace::detail::run_lower(*static_cast<const IntensityTask*>(task),
                                     static_cast<cudaStream_t>(stream));
}
