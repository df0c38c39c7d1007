#include <headrace/benchmarks/step/resnet50.h>

#include <array>
#include <utility>

namespace headrace::inline v1::bench {

namespace {

namespace nn = torch::nn;

/// Sequential with a plain forward, so that one can hold another.
class StackImpl : public nn::SequentialImpl {
 public:
  using SequentialImpl::SequentialImpl;
  torch::Tensor forward(torch::Tensor x) { return SequentialImpl::forward(std::move(x)); }
};
TORCH_MODULE(Stack);

/// Convolution without bias, batch norm, and a ReLU where one follows.
Stack convolution(int in, int out, int kernel, int stride, bool relu) {
  Stack layers(
      nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false)),
      nn::BatchNorm2d(out));
  if (relu) layers->push_back(nn::ReLU(nn::ReLUOptions(true)));
  return layers;
}

class BottleneckImpl : public nn::Module {
 public:
  BottleneckImpl(int in, int width, int stride) {
    constexpr int expansion = 4;
    const int out = expansion * width;
    main_ = register_module("main", Stack(convolution(in, width, 1, 1, true),
                                          convolution(width, width, 3, stride, true),
                                          convolution(width, out, 1, 1, false)));
    if (in != out || stride != 1)
      side_ = register_module("side", convolution(in, out, 1, stride, false));
  }
  torch::Tensor forward(torch::Tensor x) {
    const torch::Tensor side = side_.is_empty() ? x : side_->forward(x);
    return main_->forward(x).add_(side).relu_();
  }

 private:
  Stack main_{nullptr};
  Stack side_{nullptr};
};
TORCH_MODULE(Bottleneck);

}  // namespace

ResNet50Impl::ResNet50Impl(int classes)
    : trunk_(convolution(3, 64, 7, 2, true)), head_(2048, classes) {
  constexpr std::array<int, 4> depths = {3, 4, 6, 3};
  trunk_->push_back(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int in = 64;
  int width = 64;
  for (const int depth : depths) {
    for (int block = 0; block < depth; ++block) {
      trunk_->push_back(Bottleneck(in, width, block == 0 && width > 64 ? 2 : 1));
      in = 4 * width;
    }
    width *= 2;
  }
  register_module("trunk", trunk_);
  register_module("head", head_);
}

torch::Tensor ResNet50Impl::forward(torch::Tensor x) {
  return head_->forward(trunk_->forward(std::move(x)).mean({2, 3}));
}

}  // namespace headrace::inline v1::bench
