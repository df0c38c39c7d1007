#pragma once

#include <torch/nn.h>

namespace headrace::inline v1::bench {

/// ResNet-50 (He et al., CVPR 2016; stride in the 3x3 convolution): [n, 3, 224, 224] to [n,
/// classes].
class ResNet50Impl : public torch::nn::Module {
 public:
  explicit ResNet50Impl(int classes = 1000);
  torch::Tensor forward(torch::Tensor x);

 private:
  torch::nn::Sequential trunk_;
  torch::nn::Linear head_;
};
TORCH_MODULE(ResNet50);

}  // namespace headrace::inline v1::bench
