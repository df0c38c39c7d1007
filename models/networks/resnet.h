#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/classifier_head.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/resnet_variant.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of a ResNet. With 1000 classes and three channels depth 18 has 11,689,512 parameters, 34
/// has 21,797,672, and 50 has 25,557,032; as `se_resnext` 27,559,896.
struct ResNetOptions {
  int depth = 50;  ///< 18, 34 or 50
  std::int64_t in_channels = 3;
  std::int64_t classes = 1000;
  double width = 1.0;  ///< factor of all channel counts but the head's, see `scaled_channels`
  ResNetVariant variant = {};
  HeadOptions head = {};
};

/// ResNet (He et al., arXiv 1512.03385) as timm's `resnet18`, `resnet34`, `resnet50`,
/// `seresnext50_32x4d` and `legacy_seresnext50_32x4d`, with the same names, results and initial
/// distributions: a `ResNetEncoder` whose residual branches start as zero, but for the legacy
/// one's, global average pooling, and a head `fc` or, of the legacy one, `last_linear`
/// (`add_head`). Its blocks are the encoder's.
///
/// Input `[N, in_channels, H, W]` float of any sides, in either memory layout; output logits
/// `[N, classes]`. Throws `ConfigError` for options that make no network; `forward` throws
/// `DataError` for another rank or channel count. In training mode the maps at stride 32 need more
/// than one value a channel: sides above 32, or two rows a batch; hidden layers need two rows.
HEADRACE_API std::unique_ptr<Network> make_resnet(const ResNetOptions& options = {});

}  // namespace headrace::inline v1::models
