#pragma once

#include <ATen/core/Tensor.h>

/// Fixed filters of maps `[N, C, H, W]`, each channel on its own; the maps keep their sides.
namespace headrace::inline v1::models::detail {

/// Means of the 3x3 pixels around each, as far as there are any, and what these leave.
at::Tensor smooth_part(const at::Tensor& maps);
at::Tensor sharp_part(const at::Tensor& maps);

/// `|x| + |y|` of Sobel's gradient, by 8: of a slope of 1 a pixel it is 1. Outside of a map, here
/// and below, lies its outermost pixel.
at::Tensor sobel_magnitude(const at::Tensor& maps);

/// The sum of the four neighbours less four times the pixel.
at::Tensor laplacian(const at::Tensor& maps);

}  // namespace headrace::inline v1::models::detail
