#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/architecture_options.h>
#include <headrace/models/networks/edgenext_encoder.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>

namespace headrace::inline v1::models {

/// Shape of a network for camouflaged objects.
struct CamoXpertOptions {
  EdgeNeXtSize encoder = EdgeNeXtSize::base;
  std::int64_t in_channels = 3;
  std::int64_t classes = 1;  ///< logits of a pixel
  double width = 1.0;        ///< factor of all channel counts
  MixtureOptions mixture = {};
};

/// CamoXpert, layer by layer as its authors have it (`mahi-chan/camoXpert_v2`), but that norms are
/// group norms, since batches are of one or two pictures, and that mixtures work in batches. With
/// EdgeNeXt-base, one class and seven experts 30,954,585 parameters, 13,029,461 of them beside the
/// encoder.
///
/// Behind each of EdgeNeXt's four maps channel attention (reduction 8), spatial attention (7x7) and
/// a mixture of up to seven experts, of which a picture takes half, at least two: texture, linear
/// attention, hybrid, frequency, edge, context, contrast. A decoder of four blocks (bilinear
/// upsampling, concatenation with the level above, twice 3x3 convolution, norm and ReLU) leads to
/// stride 2, a head to logits of the picture's size, which are clamped to +-15 as in the original:
/// a logit outside has no gradient. `outputs()` gives in `deep` logits at strides 4, 8 and 16,
/// which are not clamped, in `extra` "expert_load", pictures of each expert, int64 `[4, E]`, and
/// the loss `balance`, a mean over the four mixtures.
///
/// Names: `backbone`, `levels.0.attention`, `levels.0.moe`, `decoder.blocks.0`, `side.0` (of the
/// coarsest), `head`. Blocks: the encoder's behind `backbone.`, `levels.0.attention` and
/// `levels.0.moe.experts` to those of `levels.3`, `decoder.blocks.0` to `decoder.blocks.3`, `head`.
///
/// Input `[N, in_channels, H, W]` float with sides that are multiples of 32; output logits
/// `[N, classes, H, W]`. Throws `ConfigError` for options that make no network; `forward` throws
/// `DataError` for images of another shape.
HEADRACE_API std::unique_ptr<Network> make_camoxpert(const CamoXpertOptions& options = {});

/// A leaner network for the same: no map is finer than stride 4. A 1x1 convolution with norm leads
/// each of EdgeNeXt's maps to 64 channels, mixtures of up to four experts (texture, wide, edge
/// difference, context), of which a picture takes two, work at strides 8, 16 and 32, and a decoder
/// goes up by adding and a 3x3 convolution. Logits of stride 4 are made bilinearly as large as the
/// picture. `outputs()` gives in `deep` logits at strides 8, 16 and 32, in `extra` "expert_load",
/// pictures of each expert, int64 `[3, E]`, and the loss `balance`, a mean over the three mixtures.
///
/// Names: `backbone`, `levels.0.lateral`, `levels.1.moe`, `decoder.blocks.0`, `side.0` (of the
/// coarsest), `head`. Blocks: the encoder's behind `backbone.`, `levels.1.moe.experts` to those of
/// `levels.3`, `decoder.blocks.0` to `decoder.blocks.2`. Input, output and what is thrown are those
/// of `make_camoxpert`.
HEADRACE_API std::unique_ptr<Network> make_camoxpert_lean(const CamoXpertOptions& options = {
                                                              .encoder = EdgeNeXtSize::xx_small});

}  // namespace headrace::inline v1::models
