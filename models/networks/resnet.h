#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of a ResNet. With 1000 classes and three channels depth 18 has 11,689,512 parameters, 34
/// has 21,797,672, and 50 has 25,557,032.
struct ResNetOptions {
  int depth = 50;  ///< 18, 34 or 50
  std::int64_t in_channels = 3;
  std::int64_t classes = 1000;
  double width = 1.0;  ///< factor of all channel counts, see `scaled_channels`
};

/// ResNet (He et al., arXiv 1512.03385) as timm's `resnet18`, `resnet34` and `resnet50`, with the
/// same names, results and initial distributions: a `ResNetEncoder` whose residual branches start
/// as zero, global average pooling, and a linear layer `fc`. Its blocks are the encoder's.
///
/// Input `[N, in_channels, H, W]` float of any sides, in either memory layout; output logits
/// `[N, classes]`. Throws `ConfigError` for options that make no network; `forward` throws
/// `DataError` for another rank or channel count. In training mode the maps at stride 32 need more
/// than one value a channel: sides above 32, or two rows a batch.
HEADRACE_API std::unique_ptr<Network> make_resnet(const ResNetOptions& options = {});

}  // namespace headrace::inline v1::models
