#pragma once

#include <headrace/models/networks/nnunet_options.h>

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models::detail {

/// An entry an axis.
using Axes = std::vector<std::int64_t>;

struct NnUNetStage {
  std::int64_t features = 0;
  Axes kernel = {};
  Axes stride = {};                ///< from the next finer stage to this one
  std::int64_t blocks = 0;         ///< of the encoder
  std::int64_t decoder_convs = 0;  ///< 0 at the coarsest stage, where the decoder starts
};

/// What distinguishes the networks before they are built.
struct NnUNetKind {
  std::string name;
  std::vector<std::int64_t> blocks;  ///< of the encoder's stages; the last goes on
  std::int64_t decoder_convs;
};

extern const NnUNetKind plain_conv_unet_kind;
extern const NnUNetKind residual_encoder_unet_kind;

/// Options with their defaults filled in, a stage a row.
struct NnUNetShape {
  std::string name = {};
  std::int64_t dims = 0;
  std::int64_t in_channels = 0;
  std::int64_t classes = 0;
  bool deep_supervision = false;
  std::vector<NnUNetStage> stages = {};  ///< the finest first
};

/// Throws `ConfigError` for options that make no network.
NnUNetShape shape_of(const NnUNetKind& kind, const NnUNetOptions& options);

/// Product of the strides of an axis.
Axes divisors_of(const NnUNetShape& shape);

/// Throws `DataError` for images that do not go through a network of that shape.
void check_images(const NnUNetShape& shape, const at::Tensor& images);

}  // namespace headrace::inline v1::models::detail
