#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

namespace headrace::inline v1::detail {
namespace {

constexpr int header = 3;

__device__ float value_of(float from) {
  return from;
}
__device__ float value_of(__half from) {
  return __half2float(from);
}
__device__ float value_of(__nv_bfloat16 from) {
  return __bfloat162float(from);
}
__device__ void store(float value, float* to) {
  *to = value;
}
__device__ void store(float value, __half* to) {
  *to = __float2half_rn(value);
}
__device__ void store(float value, __nv_bfloat16* to) {
  *to = __float2bfloat16_rn(value);
}

/// By value to the kernel: the task's own pointer is to host memory.
struct Fill {
  float of_bin[most_filled_bins];
};

__device__ long long bounded(long long value, long long low, long long high) {
  return value < low ? low : value > high ? high : value;
}

__device__ bool in_any(const std::int32_t* masks, int count, long long cell, long long cells) {
  for (int i = 0; i < count; ++i) {
    const long long start = bounded(masks[2 * i], 0, cells);
    if (cell >= start && cell < start + masks[2 * i + 1]) return true;
  }
  return false;
}

/// The value of a cell that no mask covers.
template <class T>
__device__ T moved_cell(const SpecTask& task, const std::int32_t* masks, const T* plane,
                        long long bin, long long frame, long long frames) {
  const long long frame_step = task.frequency_first ? 1 : task.bins;
  const long long bin_step = task.frequency_first ? task.frames : 1;
  if (!task.warps || masks[1] <= 0 || frame >= frames || frames < 2) {
    return plane[bin * bin_step + frame * frame_step];
  }
  const WarpTap tap =
      warp_tap(bounded(masks[1], 1, frames - 1), bounded(masks[2], 1, frames - 1), frames, frame);
  const T* first = plane + bin * bin_step + tap.first * frame_step;
  if (tap.share == 0.0F || tap.first + 1 >= frames) return *first;
  const float here = value_of(*first);
  const float step = __fsub_rn(value_of(first[frame_step]), here);
  T out;
  store(__fadd_rn(here, __fmul_rn(tap.share, step)), &out);
  return out;
}

/// One thread a cell. In place only masked cells are written.
template <class T>
__global__ void spec_augment(SpecTask task, Fill fill) {
  const long long cells = task.bins * task.frames;
  const long long all = task.planes * cells;
  const long long step = static_cast<long long>(blockDim.x) * gridDim.x;
  const bool in_place = task.from == task.to;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < all;
       i += step) {
    const long long plane = i / cells;
    const long long cell = i - plane * cells;
    const long long inner = task.frequency_first ? task.frames : task.bins;
    const long long bin = task.frequency_first ? cell / inner : cell % inner;
    const long long frame = task.frequency_first ? cell % inner : cell / inner;
    const std::int32_t* masks = task.masks + plane / task.planes_per_row * task.mask_values;
    const long long frames = bounded(masks[0], 0, task.frames);
    const std::int32_t* of_time = masks + header + 2 * task.frequency_masks;
    T* out = static_cast<T*>(task.to) + i;
    if (frame < frames && (in_any(masks + header, task.frequency_masks, bin, task.bins) ||
                           in_any(of_time, task.time_masks, frame, frames))) {
      store(fill.of_bin[task.fill_per_bin ? bin : 0], out);
    } else if (!in_place) {
      *out = moved_cell(task, masks, static_cast<const T*>(task.from) + plane * cells, bin, frame,
                        frames);
    }
  }
}

template <class T>
void launch(const SpecTask& task, const Fill& fill, cudaStream_t stream) {
  constexpr std::int64_t threads = 256;
  const std::int64_t blocks = (task.planes * task.bins * task.frames + threads - 1) / threads;
  const auto grid = static_cast<unsigned>(blocks < 16384 ? blocks : 16384);
  if (grid == 0) return;
  launch_grid(spec_augment<T>, {grid, static_cast<unsigned>(threads), stream}, task, fill);
}

int augment(const SpecTask& task, cudaStream_t stream) {
  Fill fill{};
  const std::int64_t values = task.fill_per_bin ? task.bins : 1;
  if (values > most_filled_bins) return cudaErrorInvalidValue;
  for (std::int64_t i = 0; i < values; ++i)
    fill.of_bin[i] = task.fill[i];
  switch (task.dtype) {
    case DType::float16:
      launch<__half>(task, fill, stream);
      break;
    case DType::bfloat16:
      launch<__nv_bfloat16>(task, fill, stream);
      break;
    default:
      launch<float>(task, fill, stream);
      break;
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_spec_augment(const void* task, void* stream) {
  using headrace::detail::SpecTask;
  return headrace::detail::augment(*static_cast<const SpecTask*>(task),
                                   static_cast<cudaStream_t>(stream));
}
