#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models::detail {

/// Of the last maps of `EdgeNeXtEncoder` and `ResNetEncoder`.
inline constexpr std::int64_t coarsest_stride = 32;

struct ImageRule {
  std::int64_t channels;
  std::int64_t side_divisor = 1;  ///< both sides are multiples of it
};

/// Throws `DataError`, in the name of the network `who`, for images that are not
/// `[N, channels, H, W]` with such sides.
void check_images(const char* who, const at::Tensor& images, const ImageRule& rule);

/// Throws `ConfigError`, in the name of the network `who`, for less than one class.
void check_classes(const char* who, std::int64_t classes);

}  // namespace headrace::inline v1::models::detail
