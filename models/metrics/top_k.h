#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// Whether the score of each row's class is among its `k` largest, bool `[N]`, of `scores` `[N, K]`
/// and class indices `[N]` int64 on one device. Equal scores of other classes come before it, so
/// that a network that says nothing is not right; a NaN is never among them. Targets outside
/// [0, K) are taken as the nearest class.
HEADRACE_API at::Tensor is_in_top_k(const at::Tensor& scores, const at::Tensor& target,
                                    std::int64_t k);

}  // namespace headrace::inline v1::models
