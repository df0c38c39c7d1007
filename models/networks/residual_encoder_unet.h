#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/nnunet_options.h>

#include <memory>

namespace headrace::inline v1::models {

/// The residual-encoder U-Net (ResEncUNet), the network of nnU-Net's present presets (Isensee et
/// al., arXiv 2404.09556): a stem of one convolution, stages of residual blocks as in ResNet-D down
/// (conv, norm, leaky ReLU, conv, norm, sum, leaky ReLU; the shortcut is pooled by averaging, then
/// projected where the features change), and PlainConvUNet's decoder up.
///
/// Input, outputs, errors and names (`encoder.stages.0.blocks.0.conv1.conv.weight`) are as those of
/// `make_plain_conv_unet`, and so is the start, but that the last norm of each block starts with
/// the weight 0: each block begins as its shortcut. Blocks for `checkpoint` are `encoder.stem`,
/// each residual block (`encoder.stages.0.blocks.0`) and the decoder's stages (`decoder.stages.0`).
HEADRACE_API std::unique_ptr<Network> make_residual_encoder_unet(const NnUNetOptions& options = {});

}  // namespace headrace::inline v1::models
