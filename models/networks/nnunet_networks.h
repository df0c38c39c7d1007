#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/nnunet_options.h>

#include <memory>
#include <string>
#include <string_view>

namespace headrace::inline v1::models {

/// PlainConvUNet, nnU-Net's first network (Isensee et al., Nature Methods 18, 2021): stages of
/// convolution, instance norm and leaky ReLU (.01) down, the first convolution of a stage with its
/// stride; transposed convolutions up; a head of one 1x1 convolution at every stage of the decoder.
///
/// Input `[N, in_channels, H, W]` or `[N, in_channels, D, H, W]` float; `forward` gives logits
/// `[N, classes, ...]` of the same sides, `outputs` those of the coarser stages as `deep` too, the
/// finest first, unless deep supervision is off. Weights start from Kaiming's normal distribution
/// (fan in, slope .01), biases from zero, from the default CPU generator of LibTorch. Throws
/// `ConfigError` for options that make no network; `forward` and `outputs` throw `DataError` for
/// another rank or channel count and for sides that `nnunet_side_divisors` does not divide.
///
/// Tensors are called as in nnU-Net's checkpoints (dynamic-network-architectures):
/// `encoder.stages.0.0.convs.0.conv.weight`. Those list some tensors two or four times;
/// `canonical_nnunet_name` gives for each of the names the one that is used here. Blocks are the
/// stages, `encoder.stages.0` and `decoder.stages.0`: the latter begin with enlarging and joining.
HEADRACE_API std::unique_ptr<Network> make_plain_conv_unet(const NnUNetOptions& options = {});

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

/// The name that a tensor of nnU-Net's checkpoints has in our networks. Those hold convolutions and
/// norms a second time under `all_modules`, and the encoder once more under `decoder.encoder`:
/// `decoder.encoder.stem.convs.0.all_modules.1.bias` becomes `encoder.stem.convs.0.norm.bias`.
/// Other names stay as they are, ours too. A loader renames all of a file's tensors by it; those
/// that meet in one name are the same tensor, of which any serves.
HEADRACE_API std::string canonical_nnunet_name(std::string_view name);

}  // namespace headrace::inline v1::models
