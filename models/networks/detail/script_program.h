#pragma once

#include <memory>
#include <string>

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/api/module.h>

namespace headrace::inline v1::models::detail {

/// Throws `ConfigError` that begins with `who` for a module that cannot be trained: without a
/// forward pass of one tensor, with outputs other than tensors, or with an operation whose mode,
/// training or evaluation, is a constant.
void check_program(const torch::jit::Module& module, const std::string& who);

/// A module's forward pass, all its parts in one graph of its own, with TorchScript's optimiser and
/// autocast pass off: operations run one by one as in eager PyTorch. The module's own methods, and
/// the settings of the process, stay as they are.
class ScriptProgram {
 public:
  /// `device` is where tensors go that are constants of the graph, as traced modules have them.
  ScriptProgram(torch::jit::Module module, at::Device device);

  /// Throws `c10::OutOfMemoryError` for lack of memory on a device, `std::exception` for the rest.
  c10::IValue operator()(const at::Tensor& input);

 private:
  torch::jit::Module module_;
  std::unique_ptr<torch::jit::GraphFunction> forward_;
};

}  // namespace headrace::inline v1::models::detail
