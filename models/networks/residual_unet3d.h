#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/architecture_options.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

struct ResidualUNet3dOptions {
  std::int64_t in_channels = 1;
  std::int64_t classes = 1;  ///< logits of a voxel; one is a sigmoid's
  Unet3dOptions unet = {};
};

/// ResidualUNet3D, a U-Net of residual blocks with Mish (Misra, arXiv 1908.08681) for sheets in
/// volumes, layer by layer as its author has it (`TomBombadyl/vesuvius_challenge`). Five stages of
/// `base` x 1, 2, 2, 4, 4 channels with max pooling between them, a bottleneck of `base` x 8 at the
/// last one's sides, four levels up of `base` x 4, 2, 2, 1. A level enlarges by a transposed
/// convolution of stride 2, resizes to the sides of the encoder's maps where an odd side was pooled
/// (trilinear, corners not aligned), and puts the encoder's maps behind. A block is convolution,
/// instance norm, Mish, convolution, instance norm, dropout of whole maps, the sum with its input
/// (by a 1x1x1 convolution, where channels change), and Mish. 33,671,604 parameters; with base 32
/// and two blocks 14,360,260. They start as PyTorch's layers do.
///
/// Input `[N, in_channels, D, H, W]` float with sides of at least 16, one of them of at least 32;
/// `forward` gives logits `[N, classes, D, H, W]`, `outputs` in `deep` those of the coarser levels,
/// too, the finest first, unless deep supervision is off. Their sides are the input's halved once
/// to three times, rounded down. Throws `ConfigError` for options that make no network; `forward`
/// and `outputs` throw `DataError` for volumes of another shape.
///
/// Tensors are called as in the author's checkpoints: `encoder_blocks.0.0.conv1.weight`,
/// `bottleneck.0.proj.weight`, `upconvs.0.weight` and `decoder_blocks.0.0.norm1.weight` (of the
/// coarsest level), `aux_heads.0.weight`, `head.weight`. Blocks are the residual blocks,
/// `encoder_blocks.0.0`, `bottleneck.0`, `decoder_blocks.0.0`: the first of a stage begins with
/// pooling, that of a level with enlarging and joining.
HEADRACE_API std::unique_ptr<Network> make_residual_unet3d(
    const ResidualUNet3dOptions& options = {});

}  // namespace headrace::inline v1::models
