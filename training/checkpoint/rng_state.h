#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/named_state.h>

namespace headrace::inline v1::training {

/// States of LibTorch's default generators, which dropout draws from: `cpu`, and `cuda:<n>` for
/// each GPU if CUDA runs.
HEADRACE_API TensorMap capture_rng_state();

/// Puts the generators back. States of GPUs that are not there are passed over. Throws
/// `CheckpointError` for a state that the generator refuses.
HEADRACE_API void restore_rng_state(const TensorMap& state);

}  // namespace headrace::inline v1::training
