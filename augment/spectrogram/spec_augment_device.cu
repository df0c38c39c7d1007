#include <headrace/augment/detail/device_floats.h>
#include <headrace/augment/spectrogram/detail/spec_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

#include <algorithm>
#include <cstring>

namespace headrace::inline v1::detail {
namespace {

constexpr int header = 3;
constexpr unsigned most_threads = 256;

/// By value to the kernel: the task's own pointer is to host memory.
struct Fill {
  float of_bin[most_filled_bins];
};

/// How the work on a launch's planes is cut for blocks.
struct Cut {
  unsigned items;   ///< of a plane: rectangles, or tiles of frames
  unsigned splits;  ///< blocks that share an item
  unsigned across;  ///< log2 of the threads that lie beside each other
};

/// A run of cells of an axis.
struct Run {
  int begin;
  int end;
};

__device__ int bounded(int value, int low, int high) {
  return value < low ? low : value > high ? high : value;
}

/// A mask as it lies on an axis of `cells`.
__device__ Run run_of(const std::int32_t* mask, int cells) {
  const int begin = bounded(mask[0], 0, cells);
  return {begin, begin + bounded(mask[1], 0, cells - begin)};
}

/// The masks of a plane. One division a thread, none a cell.
__device__ const std::int32_t* masks_of(const SpecTask& task, std::int64_t plane) {
  const std::int64_t row = task.planes_per_row == 1 ? plane : plane / task.planes_per_row;
  return task.masks + row * task.mask_values;
}

/// A mask of a plane, as rows of cells that lie side by side in memory.
struct Rectangle {
  Run rows;
  Run cells;
};

__device__ Rectangle rectangle_of(const SpecTask& task, const std::int32_t* masks, int number) {
  const int frames = bounded(masks[0], 0, static_cast<int>(task.frames));
  const std::int32_t* mask = masks + header + 2 * number;
  Run bins{0, static_cast<int>(task.bins)};
  Run times{0, frames};
  if (number < task.frequency_masks) {
    bins = run_of(mask, bins.end);
  } else {
    times = run_of(mask, frames);
  }
  return task.frequency_first ? Rectangle{bins, times} : Rectangle{times, bins};
}

/// 16 bytes of one value.
template <class T>
__device__ uint4 pack_of(T value) {
  unsigned word = 0;
  memcpy(&word, &value, sizeof value);
  if (sizeof value == 2) word |= word << 16;
  return {word, word, word, word};
}

/// The `piece`-th 16 bytes of a run of cells that all become `value`; those at the ends cell by
/// cell.
template <class T>
__device__ void fill_piece(T* run, int cells, int piece, T value) {
  constexpr int values = 16 / static_cast<int>(sizeof(T));
  const auto phase = static_cast<int>(reinterpret_cast<std::uintptr_t>(run) % 16 / sizeof(T));
  const int first = piece * values - phase;
  if (first >= 0 && first + values <= cells) {
    __stwb(reinterpret_cast<uint4*>(run + first), pack_of(value));  // one store; `=` makes four
    return;
  }
#pragma unroll 1
  for (int i = max(first, 0); i < min(first + values, cells); ++i)
    run[i] = value;
}

/// In place: a block, or several, for each mask of a plane, threads over its rectangle. Where
/// rectangles overlap, the same value is written twice.
template <class T>
__global__ void __launch_bounds__(most_threads)
    fill_masks(const __grid_constant__ SpecTask task, const __grid_constant__ Fill fill,
               const __grid_constant__ Cut cut, std::int64_t first_plane) {
  constexpr int values = 16 / static_cast<int>(sizeof(T));
  constexpr int long_run = 64;
  const unsigned plane_number = blockIdx.x / cut.items;
  const auto item = static_cast<int>(blockIdx.x - plane_number * cut.items);
  const std::int64_t plane = first_plane + plane_number;
  const auto [rows, cells] = rectangle_of(task, masks_of(task, plane), item);
  const int width = cells.end - cells.begin;
  if (width <= 0) return;
  const bool alike = (task.frequency_first || !task.fill_per_bin) && width >= long_run;
  const int pieces = alike ? width / values + 2 : width;
  // As many threads beside each other as a row of the rectangle takes, the rest below them.
  const int across = min(32 - __clz(pieces - 1), static_cast<int>(cut.across));
  const auto thread = static_cast<int>(threadIdx.x);
  const int column = thread & ((1 << across) - 1);
  const int below = static_cast<int>(blockDim.x) >> across;
  const int step = below * static_cast<int>(gridDim.y);
  const std::int64_t inner = task.frequency_first ? task.frames : task.bins;
  T* const to = static_cast<T*>(task.to) + plane * task.bins * task.frames + cells.begin;
  for (int row = rows.begin + (thread >> across) + below * static_cast<int>(blockIdx.y);
       row < rows.end; row += step) {
    T* const out = to + row * inner;
    for (int piece = column; piece < pieces; piece += 1 << across) {
      const int bin = task.frequency_first ? row : cells.begin + piece;
      T value;
      store(fill.of_bin[task.fill_per_bin ? bin : 0], &value);
      if (alike) {
        fill_piece(out, width, piece, value);
      } else {
        out[piece] = value;
      }
    }
  }
}

/// What becomes of a frame of a plane, whatever the bin.
struct Frame {
  int first;    ///< the frame it comes from, or the earlier of two
  float share;  ///< of the later one
  enum : int { padding, open, masked } kind;
};

__device__ Frame frame_of(const SpecTask& task, const std::int32_t* masks, int number) {
  const int frames = bounded(masks[0], 0, static_cast<int>(task.frames));
  if (number >= frames) return {number, 0.0F, Frame::padding};
  const std::int32_t* of_time = masks + header + 2 * task.frequency_masks;
  for (int i = 0; i < task.time_masks; ++i) {
    const Run run = run_of(of_time + 2 * i, frames);
    if (number >= run.begin && number < run.end) return {number, 0.0F, Frame::masked};
  }
  if (!task.warps || masks[1] <= 0 || frames < 2) return {number, 0.0F, Frame::open};
  const WarpTap tap =
      warp_tap(bounded(masks[1], 1, frames - 1), bounded(masks[2], 1, frames - 1), frames, number);
  return {tap.first, tap.first + 1 < frames ? tap.share : 0.0F, Frame::open};
}

/// Whether a frequency mask covers the bin.
__device__ bool is_masked(const SpecTask& task, const Run* runs, int bin) {
  for (int i = 0; i < task.frequency_masks; ++i)
    if (bin >= runs[i].begin && bin < runs[i].end) return true;
  return false;
}

/// Into other memory: a block takes some frames of a plane and all bins or a part of them. What
/// becomes of a frame is worked out once, and kept for all bins.
template <class T>
__global__ void __launch_bounds__(most_threads)
    copy_masked(const __grid_constant__ SpecTask task, const __grid_constant__ Fill fill,
                const __grid_constant__ Cut cut, std::int64_t first_plane) {
  struct Memory {
    Frame frames[most_threads];
    Run runs[most_spec_masks];
  };
  Memory& memory = block_memory<Memory>();
  const auto thread = static_cast<int>(threadIdx.x);
  const auto width = static_cast<int>(blockDim.x);  // frames of the tile
  const unsigned plane_number = blockIdx.x / cut.items;
  const std::int64_t plane = first_plane + plane_number;
  const int first = static_cast<int>(blockIdx.x - plane_number * cut.items) * width;
  const auto bins = static_cast<int>(task.bins);
  const int tile = min(width, static_cast<int>(task.frames) - first);
  const std::int32_t* masks = masks_of(task, plane);
  if (thread < tile) memory.frames[thread] = frame_of(task, masks, first + thread);
  for (int i = thread; i < task.frequency_masks; i += width)
    memory.runs[i] = run_of(masks + header + 2 * i, bins);
  __syncthreads();  // worked out

  // Threads lie beside each other along the axis whose cells do in memory.
  const int across = task.frequency_first ? width : 1 << cut.across;
  const int column = thread & (across - 1);
  const int below = width / across;
  const int row = thread / across + below * static_cast<int>(blockIdx.y);
  const int step = below * static_cast<int>(gridDim.y);
  const std::int64_t cells = task.bins * task.frames;
  const T* const from = static_cast<const T*>(task.from) + plane * cells;
  T* const to = static_cast<T*>(task.to) + plane * cells;
  const auto one = [&](int bin, int number, const Frame& frame) {
    const std::int64_t bin_step = task.frequency_first ? task.frames : 1;
    const std::int64_t frame_step = task.frequency_first ? 1 : task.bins;
    T* const out = to + bin * bin_step + (first + number) * frame_step;
    if (frame.kind == Frame::masked ||
        (frame.kind == Frame::open && is_masked(task, memory.runs, bin))) {
      store(fill.of_bin[task.fill_per_bin ? bin : 0], out);
      return;
    }
    const T* const in = from + bin * bin_step + frame.first * frame_step;
    if (frame.share == 0.0F) {
      *out = *in;
      return;
    }
    const float here = value_of(*in);
    const float rise = __fsub_rn(value_of(in[frame_step]), here);
    store(__fadd_rn(here, __fmul_rn(frame.share, rise)), out);
  };
  if (task.frequency_first) {
    if (column >= tile) return;
    const Frame frame = memory.frames[column];
    for (int bin = row; bin < bins; bin += step)
      one(bin, column, frame);
  } else {
    for (int number = row; number < tile; number += step) {
      const Frame frame = memory.frames[number];
      for (int bin = column; bin < bins; bin += across)
        one(bin, number, frame);
    }
  }
}

/// The least n with 2^n >= value.
unsigned log2_above(std::int64_t value) {
  unsigned n = 0;
  while ((std::int64_t{1} << n) < value)
    ++n;
  return n;
}

std::int64_t pieces_of(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

/// Launches for as many planes as 31 bits count blocks.
template <class Kernel>
cudaError_t launch_planes(Kernel kernel, const SpecTask& task, const Fill& fill, const Cut& cut,
                          unsigned threads, cudaStream_t stream) {
  const std::int64_t most = std::max<std::int64_t>(((std::int64_t{1} << 31) - 1) / cut.items, 1);
  for (std::int64_t first = 0; first < task.planes; first += most) {
    const auto planes = static_cast<unsigned>(std::min(most, task.planes - first));
    const cudaError_t status = launch_grid(
        kernel, {{planes * cut.items, cut.splits}, threads, stream}, task, fill, cut, first);
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

template <class T>
cudaError_t launch(const SpecTask& task, const Fill& fill, cudaStream_t stream) {
  constexpr std::int64_t cells_of_thread = 16;
  const std::int64_t cells = task.bins * task.frames;
  const auto splits = [](std::int64_t blocks) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, 64));
  };
  Cut cut{};
  if (task.from == task.to) {
    cut.items = static_cast<unsigned>(task.frequency_masks + task.time_masks);
    if (cut.items == 0) return cudaSuccess;
    const unsigned threads = 1U << std::clamp(log2_above(cells / 8), 5U, 8U);
    // A mask is rarely wider than a quarter of its axis.
    cut.splits = splits(cells / 4 / (threads * cells_of_thread));
    cut.across = log2_above(threads);
    return launch_planes(fill_masks<T>, task, fill, cut, threads, stream);
  }
  const unsigned threads = 1U << std::clamp(log2_above(task.frames), 5U, 8U);
  cut.items = static_cast<unsigned>(pieces_of(task.frames, threads));
  const std::int64_t in_tile = std::min<std::int64_t>(task.frames, threads) * task.bins;
  cut.splits = splits(in_tile / (threads * cells_of_thread));
  cut.across = std::min(log2_above(task.bins), 5U);
  return launch_planes(copy_masked<T>, task, fill, cut, threads, stream);
}

int augment(const SpecTask& task, cudaStream_t stream) {
  if (task.planes == 0 || task.bins == 0 || task.frames == 0) return cudaSuccess;
  Fill fill{};
  const std::int64_t values = task.fill_per_bin ? task.bins : 1;
  if (values > most_filled_bins) return cudaErrorInvalidValue;
  for (std::int64_t i = 0; i < values; ++i)
    fill.of_bin[i] = task.fill[i];
  switch (task.dtype) {
    case DType::float16:
      return launch<__half>(task, fill, stream);
    case DType::bfloat16:
      return launch<__nv_bfloat16>(task, fill, stream);
    default:
      return launch<float>(task, fill, stream);
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_spec_augment(const void* task, void* stream) {
  using headrace::detail::SpecTask;
  return headrace::detail::augment(*static_cast<const SpecTask*>(task),
                                   static_cast<cudaStream_t>(stream));
}
