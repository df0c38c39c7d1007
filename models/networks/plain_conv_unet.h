#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/nnunet_options.h>

#include <memory>

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

}  // namespace headrace::inline v1::models
