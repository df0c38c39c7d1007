#pragma once

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models::detail {

/// Max pooling of `[N, C, D, H, W]` by two along each axis; what is over at an odd side's end is
/// left out. For the backward pass it keeps the places of the maxima and, unlike LibTorch's, not
/// its input; on a GPU it gives the same bits every time.
at::Tensor halved_volumes(const at::Tensor& maps);

}  // namespace headrace::inline v1::models::detail
