#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/activations.h>
#include <headrace/models/networks/nnunet_options.h>

namespace headrace::inline v1::models {

/// Of `make_plain_conv_unet(options)`, but for a few values a map (the statistics of the norms).
/// `evaluation` is that of `forward`. Throws `ConfigError` as that does.
HEADRACE_API Activations plain_conv_unet_activations(const NnUNetOptions& options);

/// The same of `make_residual_encoder_unet(options)`.
HEADRACE_API Activations residual_encoder_unet_activations(const NnUNetOptions& options);

}  // namespace headrace::inline v1::models
