// Compiled once for every vector target; Highway picks one at run time.
#include <headrace/augment/detail/mirror.h>
#include <headrace/augment/detail/normalize_task.h>
#include <headrace/augment/detail/scratch.h>
#include <headrace/engine/base/internal/vector_target.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/augment/detail/normalize_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace headrace::inline v1::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using Bytes = hn::Rebind<std::uint8_t, F>;
using Words = hn::Rebind<std::uint16_t, F>;
using Values = hn::Vec<F>;

/// Pixels are worked on in blocks, so that their channels, taken apart, stay in the first cache.
constexpr std::int64_t block = 512;
constexpr std::int64_t most_lanes = 64;

HWY_INLINE void store(Values v, float* to) {
  hn::StoreU(v, F(), to);
}

/// Round to nearest, ties to even; the values here are finite.
HWY_INLINE void store(Values v, bfloat16_t* to) {
  const I d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto sum = hn::Add(hn::Add(bits, hn::Set(d, 0x7fff)), odd);
  const auto upper = hn::And(hn::ShiftRight<16>(sum), hn::Set(d, 0xffff));
  hn::StoreU(hn::DemoteTo(Words(), upper), Words(), reinterpret_cast<std::uint16_t*>(to));
}

/// Round to nearest, ties to even; beyond the largest half it is infinite.
HWY_INLINE void store(Values v, float16_t* to) {
  const I d;
  const auto bits = hn::BitCast(d, v);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 0x8000));
  const auto magnitude = hn::And(bits, hn::Set(d, 0x7fffffff));
  // Below the least normal half the adder rounds.
  const Values shifted = hn::Add(hn::BitCast(F(), magnitude), hn::Set(F(), 0.5F));
  const auto small = hn::Sub(hn::BitCast(d, shifted), hn::Set(d, 0x3f000000));
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(d, 1));
  const auto rebased = hn::Add(magnitude, hn::Set(d, 0xfff - 0x38000000));
  const auto normal = hn::ShiftRight<13>(hn::Add(rebased, odd));
  auto half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x47800000)), normal, hn::Set(d, 0x7c00));
  half = hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0x38800000)), small, half);
  hn::StoreU(hn::DemoteTo(Words(), hn::Or(half, sign)), Words(),
             reinterpret_cast<std::uint16_t*>(to));
}

HWY_INLINE Values load(const std::uint8_t* from) {
  return hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(Bytes(), from)));
}

/// `count` values by factors and offsets that repeat every `period` vectors.
template <class Out>
HWY_INLINE void convert(const std::uint8_t* from, Out* to, std::int64_t count, int period,
                        const float* factors, const float* offsets) {
  const F d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto one = [&](const std::uint8_t* in, Out* out, int phase) HWY_ATTR {
    const Values factor = hn::LoadU(d, factors + phase * lanes);
    const Values offset = hn::LoadU(d, offsets + phase * lanes);
    store(hn::Add(hn::Mul(load(in), factor), offset), out);
  };
  std::int64_t i = 0;
  int phase = 0;
  for (; i + lanes <= count; i += lanes) {
    one(from + i, to + i, phase);
    phase = phase + 1 == period ? 0 : phase + 1;
  }
  if (i >= count) return;
  const auto left = static_cast<std::size_t>(count - i);
  std::uint8_t in[most_lanes] = {};
  Out out[most_lanes];
  std::memcpy(in, from + i, left);
  one(in, out, phase);
  std::memcpy(to + i, out, left * sizeof(Out));
}

/// Channel after channel of `count` <= block packed pixels.
template <int kChannels>
void split(const std::uint8_t* from, std::int64_t count, std::int64_t channels,
           std::uint8_t* planes) {
  const std::int64_t step = kChannels > 0 ? kChannels : channels;
  std::int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<std::uint8_t> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if constexpr (kChannels == 3) {
    for (; i + lanes <= count; i += lanes) {
      hn::Vec<decltype(d)> r, g, b;
      hn::LoadInterleaved3(d, from + 3 * i, r, g, b);
      hn::StoreU(r, d, planes + i);
      hn::StoreU(g, d, planes + block + i);
      hn::StoreU(b, d, planes + 2 * block + i);
    }
  }
#endif
  for (; i < count; ++i) {
    for (std::int64_t c = 0; c < step; ++c)
      planes[c * block + i] = from[i * step + c];
  }
}

/// One value a channel, `lanes` times (channels first), or in the order of packed pixels.
void lay_out(const float* of_channel, std::int64_t channels, bool channels_first, float* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  for (std::int64_t i = 0; i < channels * lanes; ++i)
    to[i] = of_channel[channels_first ? i / lanes : i % channels];
}

struct Pattern {
  float factors[most_normalized_channels * most_lanes];
  float offsets[most_normalized_channels * most_lanes];
};

/// `count` pixels from pixel `first` of a picture on.
template <class Out>
void convert_pixels(const NormalizeTask& task, const std::uint8_t* from, Out* picture,
                    std::int64_t first, std::int64_t count, const Pattern& pattern) {
  const std::int64_t channels = task.channels;
  if (!task.channels_first || channels == 1) {
    return convert(from, picture + first * channels, count * channels, task.channels,
                   pattern.factors, pattern.offsets);
  }
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(F()));
  std::uint8_t planes[most_normalized_channels * block];
  for (std::int64_t done = 0; done < count; done += block) {
    const std::int64_t now = std::min(block, count - done);
    if (channels == 3) {
      split<3>(from + 3 * done, now, 3, planes);
    } else {
      split<0>(from + channels * done, now, channels, planes);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      convert(planes + c * block, picture + c * task.pixels + first + done, now, 1,
              pattern.factors + c * lanes, pattern.offsets + c * lanes);
    }
  }
}

Pattern pattern_of(const NormalizeTask& task, std::int64_t picture) {
  float factor[most_normalized_channels];
  float offset[most_normalized_channels];
  for (int c = 0; c < task.channels; ++c) {
    factor[c] = task.factor[c];
    offset[c] = task.offset[c];
    if (task.levels != nullptr) {
      offset[c] = offset[c] + factor[c] * task.levels[2 * picture + 1];
      factor[c] = factor[c] * task.levels[2 * picture];
    }
  }
  Pattern pattern;
  lay_out(factor, task.channels, task.channels_first, pattern.factors);
  lay_out(offset, task.channels, task.channels_first, pattern.offsets);
  return pattern;
}

template <class Out>
void normalize_as(const NormalizeTask& task, std::uint8_t* row) {
  const std::int64_t values = task.pixels * task.channels;
  Pattern pattern = pattern_of(task, 0);
  for (std::int64_t p = 0; p < task.pictures; ++p) {
    const std::uint8_t* from = task.from + p * values;
    Out* to = static_cast<Out*>(task.to) + p * values;
    if (task.levels != nullptr && p > 0) pattern = pattern_of(task, p);
    if (task.flips == nullptr || task.flips[p] == 0) {
      convert_pixels(task, from, to, 0, task.pixels, pattern);
      continue;
    }
    for (std::int64_t first = 0; first < task.pixels; first += task.width) {
      mirror_rows(from + first * task.channels, row, 1, task.width, task.channels);
      convert_pixels(task, row, to, first, task.width, pattern);
    }
  }
}

void normalize(const NormalizeTask& task, std::uint8_t* row) {
  switch (task.dtype) {
    case DType::float16:
      return normalize_as<float16_t>(task, row);
    case DType::bfloat16:
      return normalize_as<bfloat16_t>(task, row);
    default:
      return normalize_as<float>(task, row);
  }
}

}  // namespace headrace::inline v1::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::inline v1::detail {
namespace {
HWY_EXPORT(normalize);
}

bool normalize_on_host(const NormalizeTask& task, int target) {
  static thread_local Scratch memory;
  if (task.pictures == 0 || task.pixels == 0) return true;
  auto* row =
      task.flips == nullptr
          ? nullptr
          : memory.reserve<std::uint8_t>(static_cast<std::size_t>(task.width * task.channels));
  HEADRACE_RUN(normalize, task, row);
  return true;
}

}  // namespace headrace::inline v1::detail
#endif
