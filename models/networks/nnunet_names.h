#pragma once

#include <headrace/engine/base/export.h>

#include <string>
#include <string_view>

namespace headrace::inline v1::models {

/// The name that a tensor of nnU-Net's checkpoints has in our networks. Those hold convolutions and
/// norms a second time under `all_modules`, and the encoder once more under `decoder.encoder`:
/// `decoder.encoder.stem.convs.0.all_modules.1.bias` becomes `encoder.stem.convs.0.norm.bias`.
/// Other names stay as they are, ours too. A loader renames all of a file's tensors by it; those
/// that meet in one name are the same tensor, of which any serves.
HEADRACE_API std::string canonical_nnunet_name(std::string_view name);

}  // namespace headrace::inline v1::models
