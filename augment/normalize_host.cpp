#include <bit>
#include <cstring>

#include <headrace/augment/detail/normalize_task.h>

namespace headrace::inline v1::detail {
namespace {

void store(float value, float& to) {
  to = value;
}

/// Round to nearest, ties to even; the values here are finite.
void store(float value, bfloat16_t& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  to.bits = static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// Round to nearest, ties to even; beyond the largest half it is infinite.
void store(float value, float16_t& to) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t half = 0x7c00U;
  if (magnitude < 0x38800000U) {  // below the least normal half: the adder rounds
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  } else if (magnitude < 0x47800000U) {
    half = (magnitude - 0x38000000U + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  }
  to.bits = static_cast<std::uint16_t>(sign | half);
}

template <int kChannels, class Out>
void normalize_picture(const NormalizeTask& task, const std::uint8_t* from, Out* to) {
  const std::int64_t channels = kChannels > 0 ? kChannels : task.channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    const float factor = task.factor[c];
    const float offset = task.offset[c];
    Out* out = task.channels_first ? to + c * task.pixels : to + c;
    const std::int64_t step = task.channels_first ? 1 : channels;
    const std::uint8_t* in = from + c;
    if (step == 1) {
      for (std::int64_t i = 0; i < task.pixels; ++i)
        store(float(in[i * channels]) * factor + offset, out[i]);
    } else {
      for (std::int64_t i = 0; i < task.pixels; ++i) {
        store(float(in[i * channels]) * factor + offset, out[i * channels]);
      }
    }
  }
}

template <class Out>
void normalize_as(const NormalizeTask& task) {
  const std::int64_t values = task.pixels * task.channels;
  for (std::int64_t p = 0; p < task.pictures; ++p) {
    const std::uint8_t* from = task.from + p * values;
    Out* to = static_cast<Out*>(task.to) + p * values;
    if (task.channels == 3) {
      normalize_picture<3>(task, from, to);
    } else if (task.channels == 1) {
      normalize_picture<1>(task, from, to);
    } else {
      normalize_picture<0>(task, from, to);
    }
  }
}

}  // namespace

void normalize_on_host(const NormalizeTask& task) {
  switch (task.dtype) {
    case DType::float16:
      return normalize_as<float16_t>(task);
    case DType::bfloat16:
      return normalize_as<bfloat16_t>(task);
    default:
      return normalize_as<float>(task);
  }
}

}  // namespace headrace::inline v1::detail
