#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/block_module.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/container/sequential.h>

namespace headrace::inline v1::models {

enum class EdgeNeXtSize : unsigned char { xx_small, x_small, small, base };

/// `edgenext_xx_small`, `edgenext_x_small`, `edgenext_small` and `edgenext_base`, in the order of
/// the sizes.
HEADRACE_API std::vector<std::string> edgenext_names();

/// The size that such a name has. Throws `ConfigError` for another name, with the nearest.
HEADRACE_API EdgeNeXtSize edgenext_size_of(const std::string& name);

struct EdgeNeXtEncoderOptions {
  EdgeNeXtSize size = EdgeNeXtSize::base;
  std::int64_t in_channels = 3;
  double width = 1.0;      ///< factor of the four channel counts, which stay multiples of the heads
  double drop_path = 0.0;  ///< in training, how often the last block is left out for a row
};

/// EdgeNeXt (Maaz et al., arXiv 2206.10589) without its classifier, with timm's names:
/// `stem.0`, `stages.1.downsample.0`, `stages.0.blocks.0.conv_dw`, `stages.1.blocks.2.xca.qkv`.
/// Convolutions and attention across channels; there is no batch norm and no buffer. With three
/// channels and width 1 the sizes have 1,157,880, 2,143,420, 5,281,224 and 17,925,124 parameters.
/// Its blocks: `stem`, and each of the stages' blocks, `stages.0.blocks.0`.
///
/// In training a block's branch is left out for single rows (stochastic depth, arXiv 1603.09382)
/// at rates from 0 for the first block to `drop_path` for the last. Maps lie in the channels-last
/// layout, whatever that of the images is. Convolutions and linear layers start from a normal
/// distribution of deviation 0.02, cut at two of it, from the default CPU generator of LibTorch,
/// and the branches' scales as 1e-6. The constructor throws `ConfigError` for options that make no
/// network.
class HEADRACE_API EdgeNeXtEncoder : public BlockModule {
 public:
  explicit EdgeNeXtEncoder(const EdgeNeXtEncoderOptions& options);

  /// Maps at strides 4, 8, 16 and 32 of float images `[N, in_channels, H, W]`, whose sides are
  /// multiples of 32.
  std::array<at::Tensor, 4> features(const at::Tensor& images);

  /// Channels of those maps.
  const std::array<std::int64_t, 4>& channels() const { return channels_; }

 private:
  torch::nn::Sequential stem_{nullptr};
  torch::nn::ModuleList stages_{nullptr};
  std::array<std::int64_t, 4> channels_;
};

}  // namespace headrace::inline v1::models
