#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/tensor.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1 {

/// A field as a LibTorch tensor without a copy: same memory, same shape, on the same device. The
/// ATen tensor keeps the loan alive until its last reference dies, on any thread. Throws
/// ConfigError for a dtype that LibTorch lacks.
HEADRACE_API at::Tensor as_tensor(const Tensor& tensor);

}  // namespace headrace::inline v1
