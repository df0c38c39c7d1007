#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>
#include <headrace/loaders/volume/internal/resample_task.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr unsigned warps = 8;
constexpr unsigned lanes = 32;

/// Along one axis: the voxel before the place and the share of the one behind it.
struct Tap {
  int voxel;
  float share;
};

__device__ Tap tap_of(float place, int extent) {
  const float last = static_cast<float>(extent - 1);
  const float inside = fminf(fmaxf(place, 0.0F), last);
  const int voxel = min(static_cast<int>(inside), max(extent - 2, 0));
  return {voxel, __fsub_rn(inside, static_cast<float>(voxel))};
}

__device__ int nearest_of(float place, int extent) {
  const float last = static_cast<float>(extent - 1);
  const float inside = fminf(fmaxf(place, 0.0F), last);
  return min(static_cast<int>(__fadd_rn(inside, 0.5F)), extent - 1);
}

/// Of shares 0 and 1 it is one of both, to the bit, where both are finite.
__device__ float blend(float a, float b, float share) {
  return __fadd_rn(__fmul_rn(__fsub_rn(1.0F, share), a), __fmul_rn(share, b));
}

/// Cubic B-spline weights of the four knots around a voxel; the first one's number.
__device__ int knot_of(int voxel, float knots_per_voxel, float* weights) {
  const float place = __fmul_rn(static_cast<float>(voxel), knots_per_voxel);
  const int knot = static_cast<int>(place);
  const float t = __fsub_rn(place, static_cast<float>(knot));
  const float m = __fsub_rn(1.0F, t);
  const float sixth = 1.0F / 6.0F;
  const float thirds = 2.0F / 3.0F;
  weights[0] = __fmul_rn(__fmul_rn(__fmul_rn(m, m), m), sixth);
  weights[1] = __fsub_rn(thirds, __fmul_rn(__fmul_rn(t, t), __fsub_rn(1.0F, __fmul_rn(0.5F, t))));
  weights[2] = __fsub_rn(thirds, __fmul_rn(__fmul_rn(m, m), __fsub_rn(1.0F, __fmul_rn(0.5F, m))));
  weights[3] = __fmul_rn(__fmul_rn(__fmul_rn(t, t), t), sixth);
  return knot;
}

__device__ float weighted(const float* weights, const float* from, std::int64_t step) {
  float sum = __fmul_rn(weights[0], from[0]);
#pragma unroll
  for (int k = 1; k < 4; ++k)
    sum = __fadd_rn(sum, __fmul_rn(weights[k], from[k * step]));
  return sum;
}

/// A row of the displacement's knots at (z, y): three components, for the warp.
__device__ void collapse(const PatchMap& map, const float* knots, int z, int y, float* row) {
  float of_z[4];
  float of_y[4];
  const int first_z = knot_of(z, map.knots_per_voxel, of_z);
  const int first_y = knot_of(y, map.knots_per_voxel, of_y);
  const int line = 3 * map.knots[2];
  const std::int64_t plane = static_cast<std::int64_t>(map.knots[1]) * line;
  const float* from = knots + first_z * plane + first_y * std::int64_t{line};
  for (int i = static_cast<int>(threadIdx.x); i < line; i += lanes) {
    float at_y[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
      at_y[k] = weighted(of_z, from + k * std::int64_t{line} + i, plane);
    row[i] = weighted(of_y, at_y, 1);
  }
}

template <class T>
__device__ float trilinear(const T* box, const int* around, float z, float y, float x) {
  float rows[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const auto here = static_cast<float>(__ldg(box + around[2 * i]));
    const auto next = static_cast<float>(__ldg(box + around[2 * i + 1]));
    rows[i] = blend(here, next, x);
  }
  return blend(blend(rows[0], rows[1], y), blend(rows[2], rows[3], y), z);
}

/// The value with the largest sum of weights, of equal ones the smallest.
template <class T>
__device__ T heaviest(const T* box, const int* around, const float* shares) {
  T values[8];
  bool same = true;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    values[k] = __ldg(box + around[k]);
    same = same && values[k] == values[0];
  }
  if (same) return values[0];
  float weights[8];
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float z = (k >> 2) != 0 ? shares[0] : __fsub_rn(1.0F, shares[0]);
    const float y = ((k >> 1) & 1) != 0 ? shares[1] : __fsub_rn(1.0F, shares[1]);
    const float x = (k & 1) != 0 ? shares[2] : __fsub_rn(1.0F, shares[2]);
    weights[k] = __fmul_rn(__fmul_rn(z, y), x);
  }
  T best = values[0];
  float most = -1.0F;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float sum = 0.0F;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if (values[k] == values[i]) sum = __fadd_rn(sum, weights[k]);
    if (sum > most || (sum == most && values[i] < best)) {
      most = sum;
      best = values[i];
    }
  }
  return best;
}

/// A warp takes a row of a patch, a lane every 32nd voxel of it, all channels.
template <class T, Resampling kHow>
__global__ void __launch_bounds__(warps* lanes)
    resample(const __grid_constant__ ResampleTask task, std::int64_t rows, std::int64_t first) {
  struct Memory {
    float knots[warps][3 * most_knots];
  };
  Memory& memory = block_memory<Memory>();
  const std::int64_t number = first + static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.y;
  if (number >= rows) return;  // the whole warp
  const std::int64_t of_sample = static_cast<std::int64_t>(task.patch[0]) * task.patch[1];
  const std::int64_t sample = number / of_sample;
  const auto at = static_cast<int>(number - sample * of_sample);
  const int z = at / task.patch[1];
  const int y = at - z * task.patch[1];
  const PatchMap& map = task.maps[sample];
  float base[3];
  float step[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    const double* m = map.matrix + 3 * axis;
    base[axis] = static_cast<float>(
        __dadd_rn(map.origin[axis], __dadd_rn(__dmul_rn(m[0], z), __dmul_rn(m[1], y))));
    step[axis] = static_cast<float>(m[2]);
  }
  const bool fits = map.patch[0] == task.patch[0] && map.patch[1] == task.patch[1] &&
                    map.patch[2] == task.patch[2];
  const bool moves = fits && map.knots[0] != 0;
  float* const knots = memory.knots[threadIdx.y];
  if (moves) collapse(map, task.displacements + task.displacement_offsets[sample], z, y, knots);
  __syncwarp();  // the row of knots is whole

  const int stride_y = map.box_shape[2];
  const int stride_z = stride_y * map.box_shape[1];
  const std::int64_t of_channel = static_cast<std::int64_t>(stride_z) * map.box_shape[0];
  const std::int64_t voxels = of_sample * task.patch[2];
  const std::int64_t to =
      sample * task.channels * voxels + static_cast<std::int64_t>(at) * task.patch[2];
  if (map.box_shape[0] < 1 || !fits) {  // a row without a sample
    for (int x = static_cast<int>(threadIdx.x); x < task.patch[2]; x += lanes)
      for (std::int64_t c = 0; c < task.channels; ++c)
        if (kHow == Resampling::linear) {
          static_cast<float*>(task.to)[to + c * voxels + x] = 0.0F;
        } else {
          static_cast<T*>(task.to)[to + c * voxels + x] = T{};
        }
    return;
  }
  const T* const box = reinterpret_cast<const T*>(task.boxes) + task.box_offsets[sample];
  for (int x = static_cast<int>(threadIdx.x); x < task.patch[2]; x += lanes) {
    float place[3];
#pragma unroll
    for (int axis = 0; axis < 3; ++axis)
      place[axis] = __fadd_rn(base[axis], __fmul_rn(step[axis], static_cast<float>(x)));
    if (moves) {
      float weights[4];
      const int knot = knot_of(x, map.knots_per_voxel, weights);
#pragma unroll
      for (int axis = 0; axis < 3; ++axis)
        place[axis] =
            __fadd_rn(place[axis], weighted(weights, knots + axis * map.knots[2] + knot, 1));
    }
    if (kHow == Resampling::nearest) {
      const int voxel = nearest_of(place[0], map.box_shape[0]) * stride_z +
                        nearest_of(place[1], map.box_shape[1]) * stride_y +
                        nearest_of(place[2], map.box_shape[2]);
      for (std::int64_t c = 0; c < task.channels; ++c)
        static_cast<T*>(task.to)[to + c * voxels + x] = __ldg(box + c * of_channel + voxel);
      continue;
    }
    const Tap in_z = tap_of(place[0], map.box_shape[0]);
    const Tap in_y = tap_of(place[1], map.box_shape[1]);
    const Tap in_x = tap_of(place[2], map.box_shape[2]);
    const int voxel = in_z.voxel * stride_z + in_y.voxel * stride_y + in_x.voxel;
    const int dx = map.box_shape[2] > 1 ? 1 : 0;
    const int dy = map.box_shape[1] > 1 ? stride_y : 0;
    const int dz = map.box_shape[0] > 1 ? stride_z : 0;
    const int around[8] = {voxel,      voxel + dx,      voxel + dy,      voxel + dy + dx,
                           voxel + dz, voxel + dz + dx, voxel + dz + dy, voxel + dz + dy + dx};
    const float shares[3] = {in_z.share, in_y.share, in_x.share};
    for (std::int64_t c = 0; c < task.channels; ++c) {
      const T* const from = box + c * of_channel;
      if (kHow == Resampling::linear) {
        const float* const value = task.values + (sample * task.channels + c) * 2;
        const float found = trilinear(from, around, shares[0], shares[1], shares[2]);
        static_cast<float*>(task.to)[to + c * voxels + x] =
            __fadd_rn(__fmul_rn(found, value[0]), value[1]);
      } else {
        static_cast<T*>(task.to)[to + c * voxels + x] = heaviest(from, around, shares);
      }
    }
  }
}

template <class T, Resampling kHow>
cudaError_t launch_rows(const ResampleTask& task, cudaStream_t stream) {
  constexpr std::int64_t most = (std::int64_t{1} << 30) * warps;  // rows of a launch
  const std::int64_t rows = task.samples * task.patch[0] * task.patch[1];
  for (std::int64_t first = 0; first < rows; first += most) {
    const std::int64_t count = std::min(most, rows - first);
    const auto blocks = static_cast<unsigned>((count + warps - 1) / warps);
    const cudaError_t status =
        launch_grid(resample<T, kHow>, {{blocks}, {lanes, warps}, stream}, task, rows, first);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

template <class T>
cudaError_t launch_how(const ResampleTask& task, cudaStream_t stream) {
  switch (task.how) {
    case Resampling::linear:
      return launch_rows<T, Resampling::linear>(task, stream);
    case Resampling::nearest:
      return launch_rows<T, Resampling::nearest>(task, stream);
    default:
      return launch_rows<T, Resampling::one_hot>(task, stream);
  }
}

int resample_patches(const ResampleTask& task, cudaStream_t stream) {
  if (task.samples == 0 || task.patch[2] == 0) return cudaSuccess;
  switch (task.stored) {
    case DType::uint8:
      return launch_how<std::uint8_t>(task, stream);
    case DType::int16:
      return launch_how<std::int16_t>(task, stream);
    case DType::uint16:
      return launch_how<std::uint16_t>(task, stream);
    default:
      return launch_how<float>(task, stream);
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_resample_patches(const void* task, void* stream) {
  using headrace::detail::ResampleTask;
  return headrace::detail::resample_patches(*static_cast<const ResampleTask*>(task),
                                            static_cast<cudaStream_t>(stream));
}
