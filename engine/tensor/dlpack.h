#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/tensor.h>

/// The managed tensor of DLPack's C header (version 0, unversioned ABI), named only.
struct DLManagedTensor;

namespace headrace::inline v1 {

/// A tensor for another library, without a copy: the returned structure holds the tensor's keeper,
/// so a batch stays on loan until its deleter has been called, once, by the consumer, on any
/// thread. Device memory is handed on as it is: the consumer works on the stream that the batch is
/// a loan to.
HEADRACE_API DLManagedTensor* to_dlpack(const Tensor& tensor);

/// A view of another library's tensor, without a copy; its deleter is called once, with the last
/// copy of the handle. Throws ConfigError, and then the caller still owns `managed`, for a tensor
/// that is not packed row-major, has more than eight axes, a dtype that DType lacks, or memory that
/// is neither the CPU's (page-locked counts as such) nor a CUDA device's.
HEADRACE_API Tensor from_dlpack(DLManagedTensor* managed);

}  // namespace headrace::inline v1
