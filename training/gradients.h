#pragma once

#include <headrace/engine/base/export.h>

#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Scales the gradients of `parameters` so that the norm of all together is at most `max_norm`:
/// factor max_norm / (norm + 1e-6), at most 1. Gives the norm before, on their device a float
/// scalar, or double where there are gradients of double; nothing waits for it. If the norm is not
/// finite the gradients are left as they are: skip the step. Parameters without gradient are passed
/// over. All gradients lie on one device. With `max_norm` 0 or less the norm is only measured.
/// Throws `ConfigError` for a NaN `max_norm`.
HEADRACE_API at::Tensor clip_gradients(const std::vector<at::Tensor>& parameters, double max_norm);

}  // namespace headrace::inline v1::training
