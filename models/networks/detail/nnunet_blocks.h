#pragma once

#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/detail/nnunet_shape.h>
#include <headrace/models/networks/detail/part_list.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

/// What nnU-Net's networks are made of. Tensors are handed over by value: a block that is done with
/// its input lets go of it, which nearly halves the memory of a forward pass without gradients.
namespace headrace::inline v1::models::detail {

struct ConvOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Axes kernel = {};  ///< odd
  Axes stride = {};
  bool bias = true;
  bool activation = true;  ///< of a `ConvBlock`
};

/// A convolution over two or three axes that keeps their sides, but for the stride. Weights start
/// from Kaiming's normal distribution for a leaky ReLU of slope .01, biases from zero.
struct Conv : torch::nn::Module {
  explicit Conv(const ConvOptions& options);
  at::Tensor forward(const at::Tensor& input) const;

  Axes stride;
  Axes padding;
  at::Tensor weight;
  at::Tensor bias;  // undefined without one
};

/// A transposed convolution whose kernel is its stride: each value becomes a field of its own.
struct UpConv : torch::nn::Module {
  UpConv(std::int64_t in, std::int64_t out, Axes stride);
  at::Tensor forward(const at::Tensor& input) const;

  Axes stride;
  at::Tensor weight;
  at::Tensor bias;
};

/// Each map of each sample to mean 0 and variance 1, then times weight plus bias; and a leaky ReLU,
/// if asked for.
struct InstanceNorm : torch::nn::Module {
  explicit InstanceNorm(std::int64_t features);
  at::Tensor forward(const at::Tensor& input, bool activation) const;

  at::Tensor weight;
  at::Tensor bias;
};

/// Convolution and norm, with or without activation.
struct ConvBlock : torch::nn::Module {
  explicit ConvBlock(const ConvOptions& options);
  at::Tensor forward(at::Tensor x) const;

  bool activation;
  std::shared_ptr<Conv> conv;
  std::shared_ptr<InstanceNorm> norm;
};

/// Blocks one behind the other; the stride is the first one's.
struct ConvStack : torch::nn::Module {
  ConvStack(std::int64_t blocks, const ConvOptions& first);
  at::Tensor forward(at::Tensor x) const;

  std::shared_ptr<PartList<ConvBlock>> convs;
};

at::Tensor average_pool(const at::Tensor& input, const Axes& stride);

/// Leaky ReLU, in place: of a tensor that is no view.
at::Tensor activate(at::Tensor x);

/// nnU-Net's decoder: each stage enlarges what the coarser one gave, puts it before the encoder's
/// maps of its own size, and convolves both. Every stage has a head, so that weights fit with deep
/// supervision and without. A stage without its head is a block.
struct NnUNetDecoder : BlockModule {
  explicit NnUNetDecoder(const NnUNetShape& shape);

  /// From the encoder's maps, the finest first, to logits, the finest first: of the finest stage
  /// alone, or of all.
  std::vector<at::Tensor> forward(std::vector<at::Tensor> skips, bool deep) const;

  // What a stage makes of the coarser one's maps and the encoder's.
  at::Tensor join(std::size_t stage, at::Tensor coarse, at::Tensor skip) const;

  // All from the coarsest stage to the finest.
  std::shared_ptr<PartList<ConvStack>> stages;
  std::shared_ptr<PartList<UpConv>> transpconvs;
  std::shared_ptr<PartList<Conv>> seg_layers;
};

/// An encoder, which gives its maps from the finest stage to the coarsest, and nnU-Net's decoder.
template <typename Encoder>
struct NnUNetModule : torch::nn::Module {
  explicit NnUNetModule(NnUNetShape of)
      : shape(std::move(of)),
        encoder(register_module("encoder", std::make_shared<Encoder>(shape))),
        decoder(register_module("decoder", std::make_shared<NnUNetDecoder>(shape))) {}

  at::Tensor forward(const at::Tensor& images) {
    check_images(shape, images);
    return decoder->forward(encoder->forward(images), false).front();
  }

  Output outputs(const at::Tensor& images) {
    check_images(shape, images);
    std::vector<at::Tensor> logits =
        decoder->forward(encoder->forward(images), shape.deep_supervision);
    Output output{.main = std::move(logits.front())};
    output.deep.assign(std::make_move_iterator(logits.begin() + 1),
                       std::make_move_iterator(logits.end()));
    return output;
  }

  NnUNetShape shape;
  std::shared_ptr<Encoder> encoder;
  std::shared_ptr<NnUNetDecoder> decoder;
};

}  // namespace headrace::inline v1::models::detail
