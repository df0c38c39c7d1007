#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>
#include <headrace/loaders/image/detail/device_picture.h>
#include <headrace/loaders/image/resize_kernels.h>

#include <algorithm>
#include <cmath>

// The arithmetic of filter_taps.cpp and resize_kernels.cpp, operation by operation, so that equal
// pixels give equal bytes: weights of 16 bits from doubles that are rounded one by one, products of
// which the upper half is kept.

namespace headrace::inline v1::detail {
namespace {

constexpr int lanes = 32;
constexpr int warps = 4;  // of a block
constexpr unsigned threads = lanes * warps;
constexpr int tile_rows = 8;                  // of a tile, whose columns are the lanes
constexpr int stride = most_kernel_taps + 2;  // odd in words: lanes keep to their own banks
constexpr double negligible = 1e-9;

using Weights = std::uint16_t[stride];

/// The weights of one output row or column: of `used` pixels from `first` on.
struct Taps {
  int first;
  int used;
};

__device__ double clamped(double value, double low, double high) {
  return value < low ? low : high < value ? high : value;
}

/// What the axes' filters share.
struct Filter {
  double step;
  double radius;
  double inverse;
  int start;  ///< of a sum: half the number of taps makes up for what products lose

  __device__ Filter(const ResizeAxis& axis, Resample resample) {
    step = axis.length / axis.out;
    radius = resample == Resample::antialias && step > 1.0 ? step : 1.0;
    inverse = 1.0 / radius;
    const int most = static_cast<int>(ceil(2 * radius));
    const int there = axis.last - axis.first;
    start = (most < there ? most : there) / 2;
  }
  __device__ double weight(int pixel, double centre) const {
    const double distance = fabs(__dadd_rn(pixel + 0.5, -centre));
    return __dadd_rn(1.0, -__dmul_rn(distance, inverse));
  }
};

/// The taps of an output place, as FilterTaps::make() has them.
__device__ Taps weigh(const ResizeAxis& axis, const Filter& filter, int place, Weights& weights) {
  const int i = axis.reversed ? axis.out - 1 - place : place;
  const double centre = __dadd_rn(axis.start, __dmul_rn(i + 0.5, filter.step));
  const double low_edge = clamped(__dadd_rn(centre, -filter.radius), axis.first, axis.last - 1);
  const double high_edge = clamped(__dadd_rn(centre, filter.radius), axis.first, axis.last);
  const int low = static_cast<int>(low_edge);
  int high = static_cast<int>(high_edge);
  high += high_edge > high ? 1 : 0;
  if (high < low + 1) high = low + 1;
  Taps taps{low, 0};
  double sum = 0;
  for (int x = low; x < high; ++x) {
    const double weight = filter.weight(x, centre);
    if (!(weight > negligible)) continue;
    if (taps.used == 0) taps.first = x;
    sum = __dadd_rn(sum, weight);
    ++taps.used;
  }
  if (taps.used == 0) {
    weights[0] = 65535;
    taps.used = 1;
    return taps;
  }
  const double unit = 65535.0 / sum;
  int left = 65535;
  int largest = 0;
  for (int k = 0; k < taps.used; ++k) {
    const double weight = __dmul_rn(filter.weight(taps.first + k, centre), unit);
    const int rounded = static_cast<int>(__dadd_rn(weight, 0.5));
    const int share = left < rounded ? left : rounded;
    weights[k] = static_cast<std::uint16_t>(share);
    left -= share;
    if (weights[k] > weights[largest]) largest = k;
  }
  weights[largest] = static_cast<std::uint16_t>(weights[largest] + left);
  return taps;
}

/// One pixel of the shown picture: a column of `rows` is blended, then a row of such columns.
__device__ void blend(const std::uint8_t* pixels, std::size_t row_bytes, const Taps& rows,
                      const Weights& row_weights, unsigned row_start, const Taps& columns,
                      const Weights& column_weights, unsigned column_start, std::uint8_t* out) {
  unsigned sums[3] = {128 + column_start, 128 + column_start, 128 + column_start};
  const std::uint8_t* top = pixels + row_bytes * rows.first + std::size_t{3} * columns.first;
  for (int k = 0; k < columns.used; ++k, top += 3) {
    unsigned line[3] = {row_start, row_start, row_start};
    const std::uint8_t* at = top;
    for (int j = 0; j < rows.used; ++j, at += row_bytes) {
      const unsigned weight = row_weights[j];
      for (int c = 0; c < 3; ++c)
        line[c] += at[c] * weight >> 8;
    }
    const unsigned weight = column_weights[k];
    for (int c = 0; c < 3; ++c)
      sums[c] += line[c] * weight >> 16;
  }
  for (int c = 0; c < 3; ++c)
    out[c] = static_cast<std::uint8_t>(sums[c] >> 8);
}

/// A warp takes tiles of 32 columns and 8 rows of the stored picture's window, a lane a column.
__global__ void __launch_bounds__(threads) resize_pictures(ResizePictures task) {
  struct Memory {
    Weights columns[warps][lanes];
    Weights rows[warps][tile_rows];
    Taps row_taps[warps][tile_rows];
  };
  auto& memory = block_memory<Memory>();
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  for (std::int64_t p = blockIdx.y; p < task.count; p += gridDim.y) {
    const DevicePicture picture = task.pictures[p];
    if (picture.file_bytes == 0) continue;
    const Filter across(picture.x, task.resample);
    const Filter down(picture.y, task.resample);
    const int of_row = (picture.x.out + lanes - 1) / lanes;
    const int tiles = of_row * ((picture.y.out + tile_rows - 1) / tile_rows);
    const std::uint8_t* pixels = task.pixels + picture.pixels;
    const std::size_t row_bytes = std::size_t{3} * picture.width;
    std::uint8_t* out = task.out + p * std::int64_t{3} * task.height * task.width;
    for (int tile = static_cast<int>(blockIdx.x) * warps + warp; tile < tiles;
         tile += static_cast<int>(gridDim.x) * warps) {
      const int x = tile % of_row * lanes + lane;
      const int top = tile / of_row * tile_rows;
      const int rows = picture.y.out - top < tile_rows ? picture.y.out - top : tile_rows;
      __syncwarp();  // blended
      Taps columns{0, 0};
      if (x < picture.x.out) columns = weigh(picture.x, across, x, memory.columns[warp][lane]);
      if (lane < rows) {
        memory.row_taps[warp][lane] = weigh(picture.y, down, top + lane, memory.rows[warp][lane]);
      }
      __syncwarp();  // worked out
      if (x >= picture.x.out) continue;
      for (int r = 0; r < rows; ++r) {
        const std::int64_t y = top + r;
        const std::int64_t place =
            picture.transposed != 0 ? std::int64_t{x} * task.width + y : y * task.width + x;
        blend(pixels, row_bytes, memory.row_taps[warp][r], memory.rows[warp][r],
              static_cast<unsigned>(down.start), columns, memory.columns[warp][lane],
              static_cast<unsigned>(across.start), out + 3 * place);
      }
    }
  }
}

int resize(const ResizePictures& task, cudaStream_t stream) {
  if (task.count == 0) return cudaSuccess;
  const std::int64_t tiles =
      std::int64_t{(task.width + lanes - 1) / lanes} * ((task.height + tile_rows - 1) / tile_rows);
  const auto blocks = static_cast<unsigned>(std::clamp<std::int64_t>(tiles / warps, 1, 1024));
  const auto pictures = static_cast<unsigned>(std::min<std::int64_t>(task.count, 65535));
  return launch_grid(resize_pictures, {dim3(blocks, pictures), threads, stream}, task);
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_resize_pictures(const void* task, void* stream) {
  using headrace::detail::ResizePictures;
  return headrace::detail::resize(*static_cast<const ResizePictures*>(task),
                                  static_cast<cudaStream_t>(stream));
}
