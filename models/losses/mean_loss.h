#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// A loss that is a mean.
struct MeanLoss {
  at::Tensor value = {};  ///< scalar
  /// What it was divided by, a scalar: for `training::Term::weight`, so that a mean over batches is
  /// that over all they hold, however they are divided.
  at::Tensor weight = {};
};

namespace detail {

/// Half-precision logits as float, others unchanged.
HEADRACE_API at::Tensor in_full_precision(const at::Tensor& logits);

/// `[N]` as `[N, 1, ...]` of `axes` axes, to stand beside tensors of that many.
HEADRACE_API at::Tensor beside_axes(const at::Tensor& rows, std::int64_t axes);

/// `losses` times `factors`, which are broadcast; as they are where these are undefined. What has
/// factor zero gives zero, though it be infinite.
HEADRACE_API at::Tensor times(const at::Tensor& losses, const at::Tensor& factors);

/// A mean of what came to `sum` and weighs `total`, both scalars; zero where that is zero.
HEADRACE_API MeanLoss mean_of(const at::Tensor& sum, const at::Tensor& total);

/// Mean of `losses` under `factors`, which are broadcast to their shape; the plain mean where these
/// are undefined. As `times` and `mean_of` say.
HEADRACE_API MeanLoss weighted_mean(const at::Tensor& losses, const at::Tensor& factors);

}  // namespace detail

}  // namespace headrace::inline v1::models
