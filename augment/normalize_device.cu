#include <headrace/augment/detail/device_floats.h>
#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

#include <algorithm>

namespace headrace::inline v1::detail {
namespace {

constexpr int lanes = 32;
constexpr int warps = 8;  // of a block
constexpr int threads = lanes * warps;
constexpr int piece_bytes = 16;   // of a load and of a store
constexpr int widest_tile = 512;  // pixels

/// What a warp's tile holds at most, in values. Channels first one channel after another passes
/// through its memory, channels last all of them at once.
constexpr int values_in(bool first) {
  return first ? 2048 : 1024;
}
constexpr int values_out(bool first) {
  return first ? widest_tile : 1024;
}

/// How pictures are cut into tiles: some whole rows each, or parts of a row. Where nothing is
/// mirrored a picture is one row.
struct Tiling {
  std::int64_t height;
  std::int64_t width;
  unsigned rows;        ///< of a tile
  unsigned columns;     ///< of a tile, in pixels
  unsigned row_tiles;   ///< tiles beside each other
  unsigned tiles;       ///< of a picture
  std::int64_t before;  ///< bytes of the batch before the first picture of this launch ...
  std::int64_t behind;  ///< ... and from there to its end: what 16-byte loads may touch
};

/// A tile: `rows` x `columns` pixels that lie one after another from `first` on.
struct Tile {
  std::int64_t first;  ///< pixel of the picture
  std::int64_t to;     ///< where they go, in pixels of the picture
  int rows;
  int columns;
  bool mirrored;  ///< each row by itself
};

/// Gain and bias of a picture.
struct Level {
  float gain;
  float bias;
};

__device__ Level level_of(const NormalizeTask& task, unsigned picture) {
  if (task.levels == nullptr) return {1.0F, 0.0F};
  const float* level = task.levels + 2 * std::size_t{picture};
  return {level[0], level[1]};
}

/// Factor and offset of a channel in a picture, each operation rounded apart as on the host.
struct Linear {
  float factor;
  float offset;
};

__device__ Linear linear_of(const NormalizeTask& task, Level level, int c) {
  Linear linear{task.factor[c], task.offset[c]};
  if (task.levels != nullptr) {
    linear.offset = __fadd_rn(linear.offset, __fmul_rn(linear.factor, level.bias));
    linear.factor = __fmul_rn(linear.factor, level.gain);
  }
  return linear;
}

__device__ float applied(Linear linear, unsigned level) {
  return __fadd_rn(__fmul_rn(static_cast<float>(level), linear.factor), linear.offset);
}

__device__ Tile tile_of(const NormalizeTask& task, const Tiling& tiling, unsigned picture,
                        unsigned number) {
  const unsigned row = number / tiling.row_tiles;
  const std::int64_t y = std::int64_t{row} * tiling.rows;
  const std::int64_t x = std::int64_t{number - row * tiling.row_tiles} * tiling.columns;
  Tile tile{};
  tile.rows = static_cast<int>(min(static_cast<std::int64_t>(tiling.rows), tiling.height - y));
  tile.columns = static_cast<int>(min(static_cast<std::int64_t>(tiling.columns), tiling.width - x));
  tile.mirrored = task.flips != nullptr && task.flips[picture] != 0;
  tile.first = y * tiling.width + x;
  tile.to = tile.mirrored ? y * tiling.width + tiling.width - x - tile.columns : tile.first;
  if (!tile.mirrored) {
    tile.columns *= tile.rows;
    tile.rows = 1;
  }
  return tile;
}

/// Brings `bytes` from `at` on into `stage`, in 16-byte pieces where they begin in memory, side by
/// side; those that reach beyond the batch byte by byte. Where the first byte lies in `stage`.
__device__ unsigned load(const NormalizeTask& task, const Tiling& tiling, std::int64_t at,
                         unsigned bytes, uint4* stage) {
  constexpr unsigned flight = 4;  // loads of a thread on their way at once
  const auto skipped =
      static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(task.from + at) % piece_bytes);
  const unsigned pieces = (skipped + bytes + piece_bytes - 1) / piece_bytes;
  const std::int64_t begin = at - skipped;
  const auto whole = [&](std::int64_t offset) {
    return offset >= -tiling.before && offset + piece_bytes <= tiling.behind;
  };
  for (unsigned first = threadIdx.x % lanes; first < pieces; first += flight * lanes) {
    uint4 loaded[flight] = {};
#pragma unroll
    for (unsigned i = 0; i < flight; ++i) {
      const std::int64_t offset = begin + std::int64_t{first + i * lanes} * piece_bytes;
      if (first + i * lanes < pieces && whole(offset))
        loaded[i] = __ldg(reinterpret_cast<const uint4*>(task.from + offset));
    }
#pragma unroll
    for (unsigned i = 0; i < flight; ++i)
      if (first + i * lanes < pieces) stage[first + i * lanes] = loaded[i];
  }
  // The pieces at the ends of the batch, of which there are two.
  auto* single = reinterpret_cast<std::uint8_t*>(stage);
  for (unsigned end = 0; end < 2; ++end) {
    const unsigned piece = end == 0 ? 0 : pieces - 1;
    const std::int64_t offset = begin + std::int64_t{piece} * piece_bytes;
    if (whole(offset)) continue;
    __syncwarp();  // its thread has written zeros
    const unsigned k = threadIdx.x % lanes;
    const bool there = offset + k >= -tiling.before && offset + k < tiling.behind;
    if (k < piece_bytes && there) single[piece * piece_bytes + k] = task.from[offset + k];
  }
  return skipped;
}

/// How many values before `to` its 16-byte piece begins.
template <class Out>
__device__ unsigned phase_of(const Out* to) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(to) % piece_bytes / sizeof(Out));
}

/// Stores `count` values that lie in `stage` from `phase` on, 16 bytes a thread side by side; value
/// by value at the ends, where a piece is another tile's too.
template <class Out>
__device__ void unload(const uint4* stage, unsigned phase, unsigned count, Out* to) {
  constexpr unsigned values = piece_bytes / sizeof(Out);
  const auto* single = reinterpret_cast<const Out*>(stage);
  const unsigned lane = threadIdx.x % lanes;
  const unsigned end = phase + count;
  const unsigned first = (phase + values - 1) / values;
  const unsigned last = max(end / values, first);
#pragma unroll 4
  for (unsigned piece = first + lane; piece < last; piece += lanes)
    *reinterpret_cast<uint4*>(to + (piece * values - phase)) = stage[piece];
  const unsigned head = phase + lane;
  if (head < min(first * values, end)) to[head - phase] = single[head];
  const unsigned tail = last * values + lane;
  if (tail < end) to[tail - phase] = single[tail];
}

/// Values of a row that a thread takes at once, a warp's width apart: their loads are on their way
/// together.
template <int kChannels>
constexpr int flight_of = kChannels == 3 ? 3 : 4;  // so that they come back to the same channels

/// A row of one channel: bytes that lie `step` apart become values side by side.
template <class Out>
__device__ void convert_plane_row(const std::uint8_t* from, int step, int count, Linear linear,
                                  Out* to) {
  constexpr int flight = flight_of<1>;
  int first = static_cast<int>(threadIdx.x) % lanes;
  const auto convert = [&](auto there) {
    const std::uint8_t* at = from + first * step;
    unsigned levels[flight] = {};
#pragma unroll
    for (int i = 0; i < flight; ++i, at += lanes * step)
      if (there(first + i * lanes)) levels[i] = *at;
#pragma unroll
    for (int i = 0; i < flight; ++i)
      if (there(first + i * lanes)) store(applied(linear, levels[i]), to + first + i * lanes);
  };
  for (; first + (flight - 1) * lanes < count; first += flight * lanes)
    convert([](int) { return true; });
  convert([count](int place) { return place < count; });
}

/// A row of `columns` pixels of interleaved channels, `kChannels` of them, or any number where it
/// is 0, mirrored or not.
template <class Out, int kChannels, bool kMirrored>
__device__ void convert_pixel_row(const NormalizeTask& task, Level level, const std::uint8_t* from,
                                  int columns, Out* to) {
  constexpr int flight = flight_of<kChannels>;
  const int channels = kChannels > 0 ? kChannels : task.channels;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int count = columns * channels;
  Linear linear[flight] = {};
  if constexpr (kChannels > 0) {
#pragma unroll
    for (int i = 0; i < flight; ++i)
      linear[i] = linear_of(task, level, (lane + i * lanes) % kChannels);
  }
  int first = lane;
  const auto convert = [&](auto there) {
    unsigned levels[flight] = {};
#pragma unroll
    for (int i = 0; i < flight; ++i) {
      const int value = first + i * lanes;
      if (!there(value)) continue;
      const int pixel = value / channels;
      levels[i] = from[kMirrored ? value + (columns - 1 - 2 * pixel) * channels : value];
      if constexpr (kChannels == 0) linear[i] = linear_of(task, level, value - pixel * channels);
    }
#pragma unroll
    for (int i = 0; i < flight; ++i)
      if (there(first + i * lanes)) store(applied(linear[i], levels[i]), to + first + i * lanes);
  };
  for (; first + (flight - 1) * lanes < count; first += flight * lanes)
    convert([](int) { return true; });
  convert([count](int value) { return value < count; });
}

/// A tile a warp. Its bytes come into shared memory as they lie in device memory, become values
/// there, in the place of a 16-byte piece that they have in the batch, and leave piece by piece: so
/// neither odd sizes nor mirrored rows keep accesses from being whole. Neighbouring threads read
/// neighbouring pixels and write neighbouring values, so that up to four channels no two meet in a
/// bank.
template <class Out, bool kFirst, int kChannels>
__global__ void __launch_bounds__(threads)
    normalize_tiles(const __grid_constant__ NormalizeTask task,
                    const __grid_constant__ Tiling tiling) {
  struct Memory {
    uint4 in[warps][values_in(kFirst) / piece_bytes + 1];
    uint4 out[warps][values_out(kFirst) * sizeof(Out) / piece_bytes + 1];
  };
  Memory& memory = block_memory<Memory>();
  const unsigned warp = threadIdx.x / lanes;
  const unsigned number = blockIdx.x * warps + warp;
  const unsigned picture = number / tiling.tiles;
  if (picture >= task.pictures) return;
  const Level level = level_of(task, picture);
  const Tile tile = tile_of(task, tiling, picture, number - picture * tiling.tiles);
  const int channels = kChannels > 0 ? kChannels : task.channels;
  const std::int64_t values = task.pixels * channels;
  const unsigned pixels = static_cast<unsigned>(tile.rows * tile.columns);
  uint4* out = memory.out[warp];
  Out* const to = static_cast<Out*>(task.to) + picture * values;

  const unsigned skipped = load(task, tiling, picture * values + tile.first * channels,
                                pixels * static_cast<unsigned>(channels), memory.in[warp]);
  __syncwarp();  // loaded
  const auto* in = reinterpret_cast<const std::uint8_t*>(memory.in[warp]) + skipped;
  if constexpr (kFirst) {
    const int step = tile.mirrored ? -channels : channels;
    for (int c = 0; c < channels; ++c) {
      const Linear linear = linear_of(task, level, c);
      Out* const plane = to + c * task.pixels + tile.to;
      Out* const staged = reinterpret_cast<Out*>(out) + phase_of(plane);
      for (int row = 0; row < tile.rows; ++row) {
        const int place = row * tile.columns;
        const int begin = tile.mirrored ? place + tile.columns - 1 : place;
        convert_plane_row(in + begin * channels + c, step, tile.columns, linear, staged + place);
      }
      __syncwarp();  // converted
      unload(out, phase_of(plane), pixels, plane);
      __syncwarp();  // unloaded
    }
  } else {
    Out* const begin = to + tile.to * channels;
    Out* const staged = reinterpret_cast<Out*>(out) + phase_of(begin);
    for (int row = 0; row < tile.rows; ++row) {
      const int place = row * tile.columns * channels;
      if (tile.mirrored) {
        convert_pixel_row<Out, kChannels, true>(task, level, in + place, tile.columns,
                                                staged + place);
      } else {
        convert_pixel_row<Out, kChannels, false>(task, level, in + place, tile.columns,
                                                 staged + place);
      }
    }
    __syncwarp();  // converted
    unload(out, phase_of(begin), pixels * static_cast<unsigned>(channels), begin);
  }
}

std::int64_t pieces_of(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

Tiling tiling_of(const NormalizeTask& task, bool first) {
  // Parts of a row are alike, and begin where 16 pixels do.
  const std::int64_t most = std::min(widest_tile, values_in(first) / task.channels) / 16 * 16;
  Tiling tiling{};
  tiling.width = task.flips == nullptr ? task.pixels : task.width;
  tiling.height = task.pixels / tiling.width;
  const std::int64_t beside = pieces_of(tiling.width, most);
  const std::int64_t columns =
      beside == 1 ? tiling.width
                  : std::min(most, pieces_of(pieces_of(tiling.width, beside), 16) * 16);
  tiling.columns = static_cast<unsigned>(columns);
  tiling.row_tiles = static_cast<unsigned>(pieces_of(tiling.width, columns));
  tiling.rows = static_cast<unsigned>(beside == 1 ? most / columns : 1);
  tiling.tiles = static_cast<unsigned>(pieces_of(tiling.height, tiling.rows) * tiling.row_tiles);
  return tiling;
}

/// Launches for as many pictures as 32 bits count tiles.
template <class Out, bool kFirst, int kChannels>
cudaError_t launch(NormalizeTask task, cudaStream_t stream) {
  Tiling tiling = tiling_of(task, kFirst);
  const std::int64_t values = task.pixels * task.channels;
  const std::int64_t pictures = task.pictures;
  const std::int64_t most = std::max<std::int64_t>((std::int64_t{1} << 31) / tiling.tiles, 1);
  for (std::int64_t done = 0; done < pictures; done += most) {
    task.pictures = std::min(most, pictures - done);
    tiling.before = done * values;
    tiling.behind = (pictures - done) * values;
    const auto blocks = static_cast<unsigned>(pieces_of(task.pictures * tiling.tiles, warps));
    const cudaError_t status = launch_grid(normalize_tiles<Out, kFirst, kChannels>,
                                           {blocks, threads, stream}, task, tiling);
    if (status != cudaSuccess) return status;
    task.from += task.pictures * values;
    task.to = static_cast<Out*>(task.to) + task.pictures * values;
    if (task.flips != nullptr) task.flips += task.pictures;
    if (task.levels != nullptr) task.levels += 2 * task.pictures;
  }
  return cudaSuccess;
}

template <class Out>
cudaError_t launch(const NormalizeTask& task, cudaStream_t stream) {
  if (task.channels_first || task.channels == 1) return launch<Out, true, 0>(task, stream);
  if (task.channels == 3) return launch<Out, false, 3>(task, stream);
  if (task.channels == 4) return launch<Out, false, 4>(task, stream);
  return launch<Out, false, 0>(task, stream);
}

int normalize(const NormalizeTask& task, cudaStream_t stream) {
  if (task.pictures == 0 || task.pixels == 0) return cudaSuccess;
  switch (task.dtype) {
    case DType::float16:
      return launch<__half>(task, stream);
    case DType::bfloat16:
      return launch<__nv_bfloat16>(task, stream);
    default:
      return launch<float>(task, stream);
  }
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_normalize(const void* task, void* stream) {
  using headrace::detail::NormalizeTask;
  return headrace::detail::normalize(*static_cast<const NormalizeTask*>(task),
                                     static_cast<cudaStream_t>(stream));
}
