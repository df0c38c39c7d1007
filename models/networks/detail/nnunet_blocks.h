#pragma once

#include <headrace/models/networks/detail/nnunet_shape.h>
#include <headrace/models/networks/detail/part_list.h>

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

}  // namespace headrace::inline v1::models::detail
