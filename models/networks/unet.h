#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of a U-Net over a ResNet. With three channels and two classes encoder 18 makes 14,328,354
/// parameters, 34 makes 24,436,514, and 50 makes 32,521,250.
struct UnetOptions {
  int encoder = 34;  ///< depth of the ResNet: 18, 34 or 50
  std::int64_t in_channels = 3;
  std::int64_t classes = 2;
  double width = 1.0;  ///< factor of all channel counts, see `scaled_channels`
};

/// U-Net (Ronneberger et al., arXiv 1505.04597) with a ResNet as its encoder, as
/// segmentation_models.pytorch's `Unet("resnet34", encoder_weights=None)` with its defaults, and
/// with the same names, results and initial distributions: five blocks of nearest upsampling,
/// concatenation with the encoder's map and two 3x3 convolutions (256, 128, 64, 32, 16 channels;
/// batch norm, ReLU), and a head of one 3x3 convolution. One difference: the first convolution
/// starts as the others for every count of channels. Blocks: the encoder's behind `encoder.`, and
/// `decoder.blocks.0` to `decoder.blocks.4`.
///
/// Input `[N, in_channels, H, W]` float with sides that are multiples of 32, in either memory
/// layout; output logits `[N, classes, H, W]`. Throws `ConfigError` for options that make no
/// network; `forward` throws `DataError` for another rank, channel count or other sides. In
/// training mode the maps at stride 32 need more than one value a channel: a side above 32, or two
/// rows a batch.
HEADRACE_API std::unique_ptr<Network> make_unet(const UnetOptions& options = {});

}  // namespace headrace::inline v1::models
