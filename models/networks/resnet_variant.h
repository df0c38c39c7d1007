#pragma once

#include <cstdint>

namespace headrace::inline v1::models {

/// What a ResNet's blocks have beyond the first ResNet's.
struct ResNetVariant {
  std::int64_t groups = 1;        ///< of the 3x3 convolutions; above 1 of depth 50 alone
  std::int64_t group_width = 64;  ///< channels of a group in the first layer; 64 with one group
  /// Each block's sum is weighed by channel before the shortcut is added (Hu et al., arXiv
  /// 1709.01507), with a sixteenth of its channels between.
  bool squeeze_excite = false;
  /// As in timm's `legacy_` networks: a max pooling without padding whose last window may reach
  /// over the edge, and the names `layer0.conv1`, `se_module` and `last_linear`.
  bool legacy = false;
};

/// ResNeXt-50 32x4d (Xie et al., arXiv 1611.05431) with squeeze-and-excitation, of depth 50.
inline constexpr ResNetVariant se_resnext{.groups = 32, .group_width = 4, .squeeze_excite = true};

/// The same as Cadene's weights have it.
inline constexpr ResNetVariant legacy_se_resnext{
    .groups = 32, .group_width = 4, .squeeze_excite = true, .legacy = true};

}  // namespace headrace::inline v1::models
