#pragma once

#include <headrace/engine/device/internal/kernel.h>
#include <headrace/engine/tensor/dtype.h>

#include <cstdint>

namespace headrace::inline v1::detail {

inline constexpr int most_normalized_channels = 16;

/// Pictures one after another, pixels x channels values each, to factor * v + offset per channel.
struct NormalizeTask {
  const std::uint8_t* from = nullptr;
  void* to = nullptr;
  DType dtype = DType::float32;
  bool channels_first = true;
  std::int64_t pictures = 0;
  std::int64_t pixels = 0;  ///< of one picture
  std::int64_t width = 0;   ///< of a row; divides `pixels`
  int channels = 0;
  /// Per picture, null for none: not 0 where its rows are to be mirrored.
  const std::uint8_t* flips = nullptr;
  /// Per picture, null for 1 and 0: gain and bias; factor' = factor * gain, offset' = offset +
  /// factor * bias.
  const float* levels = nullptr;
  float factor[most_normalized_channels] = {};
  float offset[most_normalized_channels] = {};
};

/// In host memory, on the calling thread: the device kernel's twin, bit for bit. On the best vector
/// target, or on the given one; false when there is none of that number.
bool normalize_on_host(const NormalizeTask& task, int target = -1);

/// Takes a NormalizeTask in memory of the device.
inline constexpr Kernel normalize_kernel{.who = "normalize", .function = "headrace_normalize"};

}  // namespace headrace::inline v1::detail
