#pragma once

#include <headrace/engine/base/export.h>

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models::detail {

/// A tensor's shape for a message, as "[2, 3]".
HEADRACE_API std::string shape_text(const at::Tensor& tensor);

/// `target` in the shape of `logits` `[N, K, ...]`: with one channel the channel's axis may be
/// missing. Throws `ConfigError` that names `loss` where it is of another shape.
HEADRACE_API at::Tensor channel_targets(const std::string& loss, const at::Tensor& logits,
                                        const at::Tensor& target);

/// Which targets `[N, ...]` count: those that are not `ignore`, of rows `[N]` that have a weight.
/// To be broadcast; undefined when all do.
HEADRACE_API at::Tensor counted_targets(const at::Tensor& target, const at::Tensor& of_samples,
                                        const std::optional<at::Scalar>& ignore);

/// What weighs in a mean: rows by their weights, targets that are `ignore` not at all. To be
/// broadcast; undefined when all weigh the same.
HEADRACE_API at::Tensor factors_of_targets(const at::Tensor& target, const at::Tensor& of_samples,
                                           const std::optional<at::Scalar>& ignore,
                                           at::ScalarType type);

}  // namespace headrace::inline v1::models::detail
