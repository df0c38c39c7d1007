#pragma once

#include <headrace/models/networks/script_network.h>
#include <headrace/tests/support/temporary_folder.h>

#include <memory>
#include <string>

#include <ATen/Functions.h>
#include <torch/csrc/jit/api/module.h>

// Small TorchScript modules, made from source.
namespace headrace::test {

/// With a weight [4, 3], a bias [4], a buffer `seen` [] and these methods.
inline torch::jit::Module script_module(const std::string& methods) {
  torch::jit::Module module("net");
  module.register_parameter("weight", at::rand({4, 3}).requires_grad_(), false);
  module.register_parameter("bias", at::rand({4}).requires_grad_(), false);
  module.register_buffer("seen", at::zeros({}));
  module.register_attribute("training", c10::BoolType::get(), true);
  module.define(methods);
  return module;
}

/// Written to a file and read by `read_script_network`.
inline std::unique_ptr<models::Network> read_written(const torch::jit::Module& module,
                                                     const models::ScriptOptions& options = {},
                                                     const torch::jit::ExtraFilesMap& extra = {}) {
  const TemporaryFolder folder;
  module.save((folder / "net.pt").string(), extra);
  return models::read_script_network(folder / "net.pt", options);
}

inline constexpr const char* linear = R"(
def forward(self, x):
    return torch.linear(x, self.weight, self.bias)
)";

}  // namespace headrace::test
