#pragma once

#include <cstdint>

#include <headrace/engine/dtype.h>

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
  int channels = 0;
  float factor[most_normalized_channels] = {};
  float offset[most_normalized_channels] = {};
};

/// In host memory, on the calling thread.
void normalize_on_host(const NormalizeTask& task);

/// In device memory, on a CUDA stream. Throws DeviceError where this build has no device code.
void normalize_on_device(const NormalizeTask& task, void* stream);

}  // namespace headrace::inline v1::detail
