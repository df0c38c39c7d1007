#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/named_state.h>

#include <filesystem>

namespace headrace::inline v1::training {

/// The weights of a file: any safetensors file, or one of ours (`read_best_weights`). Throws
/// `CheckpointError`; for a pickle of Python (`.pt`, `.pth`, `.bin`), which is never opened, it
/// says how a safetensors file is made of it, or that it is a network from TorchScript.
HEADRACE_API TensorMap read_weights(const std::filesystem::path& path);

}  // namespace headrace::inline v1::training
