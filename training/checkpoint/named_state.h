#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <map>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

using TensorMap = std::map<std::string, at::Tensor>;

/// Copies in CPU memory: later changes of the originals do not reach them.
HEADRACE_API TensorMap snapshot(const TensorMap& tensors);

/// A snapshot of all parameters and buffers.
HEADRACE_API TensorMap snapshot(const models::Network& network);

/// Makes `copies` a snapshot of `tensors`, in the memory that it has where names, shapes and dtypes
/// are those of before: a first touch of memory costs more than the copy. From a GPU it is copied
/// to page-locked memory in the order of the current stream, and nothing waits: the values are
/// there once that stream has come so far.
HEADRACE_API void update_snapshot(TensorMap& copies, const TensorMap& tensors);
HEADRACE_API void update_snapshot(TensorMap& copies, const models::Network& network);

/// The name of a floating tensor that holds a value that is not finite; empty where all are. Waits
/// for the device.
HEADRACE_API std::optional<std::string> first_not_finite(const TensorMap& tensors);

/// Copies each tensor into the one of the same name, converting dtype, layout and device. Throws
/// `CheckpointError`, before anything is changed, if a name is missing or unexpected or a shape
/// differs; the message begins with `who`.
HEADRACE_API void copy_by_name(const TensorMap& from, const TensorMap& into,
                               const std::string& who);

/// Copies weights into a network; see `copy_by_name`.
HEADRACE_API void load_weights(models::Network& network, const TensorMap& weights);

}  // namespace headrace::inline v1::training
