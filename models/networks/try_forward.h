#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <string>

#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>

namespace headrace::inline v1::models {

/// One forward pass of zeros, float32 or what the parameters are, of that shape, `[N, ...]`, in
/// training mode and one in evaluation mode, on the device that the network was moved to. Weights,
/// buffers, mode and random generators are as before. Gives the outputs of evaluation, detached.
///
/// Throws `ConfigError` that begins with `who`, the network or its file, and holds the shape and
/// the reason, if the network fails or its training output has no gradient; lack of memory is
/// thrown as LibTorch does.
HEADRACE_API Output try_forward(Network& network, c10::IntArrayRef shape, c10::Device device,
                                const std::string& who);

}  // namespace headrace::inline v1::models
