#pragma once

#include <torch/nn/module.h>

namespace headrace::inline v1::models::detail {

/// Starts all convolutions and linear layers below `module` anew, as timm does: weights from a
/// normal distribution of deviation 0.02, cut at two of it, from the default CPU generator of
/// LibTorch, biases as zero.
void start_truncated_normal(torch::nn::Module& module);

}  // namespace headrace::inline v1::models::detail
