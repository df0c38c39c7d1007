#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/edgenext_encoder.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// With 1000 classes, three channels and width 1 the sizes have 1,327,216, 2,336,804, 5,586,832 and
/// 18,511,292 parameters.
struct EdgeNeXtOptions {
  EdgeNeXtEncoderOptions encoder = {};
  std::int64_t classes = 1000;
};

/// EdgeNeXt as timm's `edgenext_xx_small`, `edgenext_x_small`, `edgenext_small` and
/// `edgenext_base`, with the same names, results and initial distributions: an `EdgeNeXtEncoder`,
/// the mean of its last maps, and a layer norm and linear layer, `head.norm` and `head.fc`. Its
/// blocks are the encoder's.
///
/// Input `[N, in_channels, H, W]` float whose sides are multiples of 32, in either memory layout;
/// output logits `[N, classes]`. Throws `ConfigError` for options that make no network; `forward`
/// throws `DataError` for images of another shape.
HEADRACE_API std::unique_ptr<Network> make_edgenext(const EdgeNeXtOptions& options = {});

}  // namespace headrace::inline v1::models
