#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstring>

#include <headrace/augment/detail/normalize_task.h>
#include <headrace/engine/base/export.h>
#include <headrace/engine/device/internal/launch.h>

namespace headrace::inline v1::detail {
namespace {

constexpr int lanes = 32;
constexpr int warps = 8;          // of a block
constexpr int tile_pixels = 512;  // of a warp: 16 input bytes a lane and channel
constexpr int threads = lanes * warps;

/// 16 bytes of output: what one store instruction of a thread writes.
template <class Out>
struct Pack;

template <>
struct Pack<float> {
  static constexpr int values = 4;
  static __device__ uint4 of(const float* v) {
    return {__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
            __float_as_uint(v[3])};
  }
  static __device__ uint4 reversed(uint4 p) { return {p.w, p.z, p.y, p.x}; }
  static __device__ float one(float v) { return v; }
};

struct RoundHalf {
  static __device__ __half2 pair(float low, float high) { return __floats2half2_rn(low, high); }
  static __device__ __half one(float v) { return __float2half_rn(v); }
};
struct RoundBfloat16 {
  static __device__ __nv_bfloat162 pair(float low, float high) {
    return __floats2bfloat162_rn(low, high);
  }
  static __device__ __nv_bfloat16 one(float v) { return __float2bfloat16_rn(v); }
};

/// Eight values of 16 bits, two a word.
template <class Round>
struct SmallPack {
  static constexpr int values = 8;
  static __device__ unsigned word(float low, float high) {
    const auto pair = Round::pair(low, high);
    unsigned bits;
    memcpy(&bits, &pair, sizeof bits);
    return bits;
  }
  static __device__ uint4 of(const float* v) {
    return {word(v[0], v[1]), word(v[2], v[3]), word(v[4], v[5]), word(v[6], v[7])};
  }
  static __device__ unsigned swapped(unsigned w) { return w >> 16 | w << 16; }
  static __device__ uint4 reversed(uint4 p) {
    return {swapped(p.w), swapped(p.z), swapped(p.y), swapped(p.x)};
  }
  static __device__ auto one(float v) { return Round::one(v); }
};

template <>
struct Pack<__half> : SmallPack<RoundHalf> {};
template <>
struct Pack<__nv_bfloat16> : SmallPack<RoundBfloat16> {};

/// Factor and offset of a channel in a picture, each operation rounded apart as on the host.
struct Linear {
  float factor;
  float offset;
};

__device__ Linear linear_of(const NormalizeTask& task, unsigned picture, int c) {
  Linear linear{task.factor[c], task.offset[c]};
  if (task.levels != nullptr) {
    const float gain = task.levels[2 * std::size_t{picture}];
    const float bias = task.levels[2 * std::size_t{picture} + 1];
    linear.offset = __fadd_rn(linear.offset, __fmul_rn(linear.factor, bias));
    linear.factor = __fmul_rn(linear.factor, gain);
  }
  return linear;
}

__device__ float applied(Linear linear, unsigned level) {
  return __fadd_rn(__fmul_rn(static_cast<float>(level), linear.factor), linear.offset);
}

/// As many pixels as one 16-byte store takes values, their channels interleaved; `values` become
/// normalised levels in that order.
template <class Out, int kChannels>
__device__ void read_group(const NormalizeTask& task, unsigned picture, const std::uint8_t* stage,
                           float* values) {
  constexpr int count = Pack<Out>::values * kChannels;
  unsigned words[count / 4];
  const auto* from = reinterpret_cast<const unsigned*>(stage);
#pragma unroll
  for (int i = 0; i < count / 4; ++i)
    words[i] = from[i];
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    const Linear linear = linear_of(task, picture, c);
#pragma unroll
    for (int i = c; i < count; i += kChannels)
      values[i] = applied(linear, words[i / 4] >> (8 * (i % 4)) & 0xffU);
  }
}

/// Where a group of pixels goes: the same place of its picture, or the mirrored one of its row.
struct Group {
  unsigned picture;
  unsigned place;  ///< in the picture, in groups
  bool mirrored;
};

__device__ Group group_of(const NormalizeTask& task, unsigned group, unsigned of_picture,
                          unsigned of_row) {
  Group to{group / of_picture, group % of_picture, false};
  if (task.flips != nullptr && task.flips[to.picture] != 0) {
    const unsigned x = to.place % of_row;
    to.place += of_row - 1 - 2 * x;
    to.mirrored = true;
  }
  return to;
}

/// The way for pictures whose rows are whole groups and whose memory is aligned. A warp takes 512
/// pixels: it loads them in 16-byte pieces, side by side, into its shared memory; each lane takes
/// groups of pixels from there and stores 16 bytes a channel, again side by side. Channels last,
/// the stores would lie 16 bytes times the channels apart, so they pass shared memory, too.
template <class Out, int kChannels, bool kFirst>
__global__ void __launch_bounds__(threads) normalize_groups(NormalizeTask task) {
  constexpr int pixels = Pack<Out>::values;  // of a group
  constexpr int rounds = tile_pixels / pixels / lanes;
  constexpr int pieces =
      kChannels * lanes;  // 16-byte pieces of a warp's input, and of one round's output
  struct Memory {
    uint4 stages[warps][pieces];
    uint4 turned[kFirst ? 1 : warps][kFirst ? 1 : pieces];
  };
  auto& [stages, turned] = block_memory<Memory>();
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int warp = static_cast<int>(threadIdx.x) / lanes;
  const auto of_picture = static_cast<unsigned>(task.pixels / pixels);
  const auto of_row = static_cast<unsigned>(task.width / pixels);
  const auto groups = static_cast<unsigned>(task.pictures) * of_picture;
  const unsigned tiles = (groups + rounds * lanes - 1) / (rounds * lanes);
  const std::int64_t all_pieces = task.pictures * task.pixels * kChannels / 16;
  const auto* from = reinterpret_cast<const uint4*>(task.from);
  auto* to = static_cast<uint4*>(task.to);

  for (unsigned tile = blockIdx.x * warps + warp; tile < tiles; tile += gridDim.x * warps) {
    uint4 loaded[kChannels] = {};
#pragma unroll
    for (int k = 0; k < kChannels; ++k) {
      const std::int64_t piece = std::int64_t{tile} * pieces + k * lanes + lane;
      if (piece < all_pieces) loaded[k] = __ldg(from + piece);
    }
#pragma unroll
    for (int k = 0; k < kChannels; ++k)
      stages[warp][k * lanes + lane] = loaded[k];
    __syncwarp();
#pragma unroll
    for (int round = 0; round < rounds; ++round) {
      const unsigned group = (tile * rounds + round) * lanes + lane;
      const bool there = group < groups;
      const Group place = there ? group_of(task, group, of_picture, of_row) : Group{};
      const auto* stage = reinterpret_cast<const std::uint8_t*>(stages[warp]) +
                          (round * lanes + lane) * pixels * kChannels;
      float values[pixels * kChannels];
      if (there) read_group<Out, kChannels>(task, place.picture, stage, values);
      if constexpr (kFirst) {
        if (!there) continue;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          float channel[pixels];
#pragma unroll
          for (int p = 0; p < pixels; ++p)
            channel[p] = values[p * kChannels + c];
          uint4 pack = Pack<Out>::of(channel);
          if (place.mirrored) pack = Pack<Out>::reversed(pack);
          const std::size_t plane = std::size_t{place.picture} * kChannels + c;
          to[plane * of_picture + place.place] = pack;
        }
      } else {
        if (there) {
#pragma unroll
          for (int k = 0; k < kChannels; ++k) {
            float part[pixels];
#pragma unroll
            for (int i = 0; i < pixels; ++i) {
              const int straight = k * pixels + i;
              const int back =
                  (pixels - 1 - straight / kChannels) * kChannels + straight % kChannels;
              part[i] = place.mirrored ? values[back] : values[straight];
            }
            turned[warp][lane * kChannels + k] = Pack<Out>::of(part);
          }
        }
        __syncwarp();
        const unsigned long long first =
            there ? (std::size_t{place.picture} * of_picture + place.place) * kChannels : ~0ULL;
#pragma unroll
        for (int k = 0; k < kChannels; ++k) {
          const int piece = k * lanes + lane;
          const unsigned long long at = __shfl_sync(0xffffffffU, first, piece / kChannels);
          if (at != ~0ULL) to[at + piece % kChannels] = turned[warp][piece];
        }
        __syncwarp();
      }
    }
    __syncwarp();
  }
}

/// The way for all other pictures: one thread a pixel.
template <class Out>
__global__ void normalize_pixels(NormalizeTask task) {
  const std::int64_t all = task.pictures * task.pixels;
  const std::int64_t step = std::int64_t{blockDim.x} * gridDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all; i += step) {
    const std::int64_t picture = i / task.pixels;
    std::int64_t pixel = i - picture * task.pixels;
    if (task.flips != nullptr && task.flips[picture] != 0)
      pixel += task.width - 1 - 2 * (pixel % task.width);
    const std::uint8_t* from = task.from + i * task.channels;
    Out* to = static_cast<Out*>(task.to) + picture * task.pixels * task.channels;
    for (int c = 0; c < task.channels; ++c) {
      const float value = applied(linear_of(task, static_cast<unsigned>(picture), c), from[c]);
      to[task.channels_first ? c * task.pixels + pixel : pixel * task.channels + c] =
          Pack<Out>::one(value);
    }
  }
}

unsigned grid_for(std::int64_t work, std::int64_t of_block) {
  return static_cast<unsigned>(std::min<std::int64_t>((work + of_block - 1) / of_block, 1 << 20));
}

template <class Out>
bool fits_groups(const NormalizeTask& task) {
  const auto aligned = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
  };
  const std::int64_t all = task.pictures * task.pixels;
  return (task.channels == 1 || task.channels == 3 || task.channels == 4) &&
         task.width % Pack<Out>::values == 0 && all * task.channels % 16 == 0 &&
         all < std::int64_t{1} << 31 && aligned(task.from) && aligned(task.to);
}

template <class Out, int kChannels>
void launch_groups(const NormalizeTask& task, cudaStream_t stream) {
  const unsigned grid = grid_for(task.pictures * task.pixels, warps * tile_pixels);
  if (task.channels_first) {
    launch_grid(normalize_groups<Out, kChannels, true>, {grid, threads, stream}, task);
  } else {
    launch_grid(normalize_groups<Out, kChannels, false>, {grid, threads, stream}, task);
  }
}

template <class Out>
void launch(const NormalizeTask& task, cudaStream_t stream) {
  if (!fits_groups<Out>(task)) {
    launch_grid(normalize_pixels<Out>,
                {grid_for(task.pictures * task.pixels, threads), threads, stream}, task);
  } else if (task.channels == 3) {
    launch_groups<Out, 3>(task, stream);
  } else if (task.channels == 1) {
    launch_groups<Out, 1>(task, stream);
  } else {
    launch_groups<Out, 4>(task, stream);
  }
}

int normalize(const NormalizeTask& task, cudaStream_t stream) {
  if (task.pictures * task.pixels == 0) return cudaSuccess;
  switch (task.dtype) {
    case DType::float16:
      launch<__half>(task, stream);
      break;
    case DType::bfloat16:
      launch<__nv_bfloat16>(task, stream);
      break;
    default:
      launch<float>(task, stream);
      break;
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace headrace::inline v1::detail

extern "C" HEADRACE_API int headrace_normalize(const void* task, void* stream) {
  using headrace::detail::NormalizeTask;
  return headrace::detail::normalize(*static_cast<const NormalizeTask*>(task),
                                     static_cast<cudaStream_t>(stream));
}
