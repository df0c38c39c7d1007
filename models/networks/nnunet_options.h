#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::models {

/// Shape of nnU-Net's networks, by the names of its plans (Isensee et al., Nature Methods 18,
/// 2021). Stages go from the finest to the coarsest; a list that is left empty gets its default. An
/// axis stands where the image has it: `[depth, height, width]` or `[height, width]`.
struct NnUNetOptions {
  std::int64_t dims = 3;  ///< axes of an image, 2 or 3
  std::int64_t in_channels = 1;
  std::int64_t classes = 2;
  std::vector<std::int64_t> features_per_stage = {32, 64, 128, 256, 320, 320};
  /// `[stage][axis]`, odd; 1 leaves neighbours along that axis apart. Default: 3 everywhere.
  std::vector<std::vector<std::int64_t>> kernel_sizes = {};
  /// `[stage][axis]`, how much coarser a stage is than the one before; of the first all are 1.
  /// Default: 2 everywhere.
  std::vector<std::vector<std::int64_t>> strides = {};
  /// Of the encoder: convolutions of PlainConvUNet (default 2), residual blocks of the
  /// residual-encoder U-Net (default 1, 3, 4, 6, and 6 from there on).
  std::vector<std::int64_t> n_blocks_per_stage = {};
  /// Convolutions of each stage of the decoder, from the coarsest to the finest as in nnU-Net's
  /// plans; one entry less than stages. Default: 2 of PlainConvUNet, 1 of the residual-encoder
  /// U-Net.
  std::vector<std::int64_t> n_conv_per_stage_decoder = {};
  bool deep_supervision = true;  ///< logits of the coarser stages too, in `Output::deep`
};

/// What the sides of an image must be multiples of, an entry an axis: the product of the strides.
/// Throws `ConfigError` for options that fit neither network.
HEADRACE_API std::vector<std::int64_t> nnunet_side_divisors(const NnUNetOptions& options);

}  // namespace headrace::inline v1::models
