#pragma once

#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/module_network.h>

#include <memory>

#include <ATen/Functions.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

// Networks small enough to train in a test.

/// Linear layers alone: the gradient of a batch is the mean of its rows'.
struct PlainModule : torch::nn::Module {
  PlainModule()
      : first(register_module("first", torch::nn::Linear(12, 8))),
        second(register_module("second", torch::nn::Linear(8, 3))) {}
  at::Tensor forward(const at::Tensor& input) { return second(at::tanh(first(input.flatten(1)))); }
  torch::nn::Linear first;
  torch::nn::Linear second;
};

/// Convolution, running statistics and dropout: all that a resumed run must put back.
struct StatefulModule : torch::nn::Module {
  StatefulModule()
      : conv(register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)))),
        norm(register_module("norm", torch::nn::BatchNorm2d(8))),
        dropout(register_module("dropout", torch::nn::Dropout(0.3))),
        linear(register_module("linear", torch::nn::Linear(8, 3))) {}
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor maps = at::relu(norm(conv(input)));
    return linear(dropout(maps.mean({2, 3})));
  }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  torch::nn::Dropout dropout;
  torch::nn::Linear linear;
};

/// The same in two blocks, "body" and "head", which count their runs.
struct BlockedModule : headrace::models::BlockModule {
  BlockedModule() {
    add_block("body", {conv.ptr(), norm.ptr()});
    add_block("head", {dropout.ptr(), linear.ptr()});
  }
  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor maps = run_block(
        "body",
        [this](const at::Tensor& x) {
          ++body_runs;
          return at::relu(norm->forward(conv->forward(x)));
        },
        input);
    return run_block(
        "head",
        [this](const at::Tensor& x) {
          ++head_runs;
          return linear->forward(dropout->forward(x.mean({2, 3})));
        },
        maps);
  }
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(8));
  torch::nn::Dropout dropout = register_module("dropout", torch::nn::Dropout(0.3));
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(8, 3));
  int body_runs = 0;
  int head_runs = 0;
};

template <typename Module>
std::unique_ptr<headrace::models::Network> make_network(std::uint64_t seed) {
  at::manual_seed(seed);
  return std::make_unique<headrace::models::ModuleNetwork<Module>>(std::make_shared<Module>());
}
