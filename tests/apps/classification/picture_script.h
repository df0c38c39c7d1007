#pragma once

#include <cstdint>

#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

namespace headrace::test {

/// A small network for pictures, float32 [N, 3, H, W] to [N, classes], as torch.jit.script makes
/// one: a norm, `tied` that is `head` once more, and a buffer `position` that is no part of the
/// state.
inline torch::jit::Module picture_script(std::int64_t classes) {
  torch::jit::Module net("net");
  const auto parameter = [&](const char* name, const at::Tensor& values) {
    net.register_parameter(name, values.requires_grad_(), false);
  };
  parameter("stem", at::randn({8, 3, 3, 3}) * 0.3);
  parameter("head", at::randn({classes, 8}) * 0.3);
  parameter("tied", net.attr("head").toTensor().detach().alias());
  parameter("bias", at::zeros({classes}));
  net.register_buffer("mean", at::zeros({8}));
  net.register_buffer("variance", at::ones({8}));
  net.register_buffer("position", at::ones({8}));
  net.register_attribute("training", c10::BoolType::get(), true);
  net.define(R"(
def forward(self, x):
    y = torch.conv2d(x, self.stem, None, [2, 2], [1, 1])
    y = torch.batch_norm(y, None, None, self.mean, self.variance, self.training, 0.1, 1e-5, False)
    y = torch.relu(y).mean([2, 3]) + self.position
    return torch.linear(y, self.head, self.bias) + torch.linear(y, self.tied)
)");
  return net;
}

/// What belongs to its state, for the extra file "state_names".
inline constexpr const char* picture_script_state = "stem\nhead\ntied\nbias\nmean\nvariance";

}  // namespace headrace::test
