#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of the glaucoma classifier. With three channels and five classes it has 1,300,037
/// parameters.
struct EfficientGlaucomaCnnOptions {
  std::int64_t channels = 3;
  std::int64_t classes = 5;
  bool dropout = true;  ///< off: a training step depends on weights and batch alone
};

/// EfficientGlaucomaCNN: a stem of one 3x3 convolution, three blocks of two (64, 128, 256 features;
/// batch norm, ReLU, max pooling, dropout of whole maps), global average pooling and a head of two
/// linear layers. Blocks: `stem`, `block1`, `block2`, `block3`.
///
/// Input `[N, channels, H, W]` float with both sides at least 16, in either memory layout; output
/// logits `[N, classes]`. Convolutions start from Kaiming's normal distribution (fan out), linear
/// layers from N(0, .01), from the default CPU generator of LibTorch. `forward` throws `DataError`
/// for another rank, channel count or a smaller side. Training mode needs at least two rows a
/// batch.
HEADRACE_API std::unique_ptr<Network> make_efficient_glaucoma_cnn(
    const EfficientGlaucomaCnnOptions& options = {});

}  // namespace headrace::inline v1::models
