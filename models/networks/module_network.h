#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <memory>
#include <utility>

#include <torch/nn/module.h>

namespace headrace::inline v1::models {

namespace detail {

HEADRACE_API NamedTensors parameters_of(const torch::nn::Module& module);
HEADRACE_API NamedTensors buffers_of(const torch::nn::Module& module);
HEADRACE_API void move_module(torch::nn::Module& module, at::Device device, bool channels_last);

}  // namespace detail

/// A `Network` around any LibTorch module that has `at::Tensor forward(const at::Tensor&)`.
template <typename Module>
class ModuleNetwork final : public Network {
 public:
  explicit ModuleNetwork(std::shared_ptr<Module> module) : module_(std::move(module)) {}

  at::Tensor forward(const at::Tensor& input) override { return module_->forward(input); }
  NamedTensors parameters() const override { return detail::parameters_of(*module_); }
  NamedTensors buffers() const override { return detail::buffers_of(*module_); }
  void set_training(bool on) override { module_->train(on); }
  bool is_training() const override { return module_->is_training(); }
  void move_to(at::Device device, bool channels_last) override {
    detail::move_module(*module_, device, channels_last);
  }

 private:
  std::shared_ptr<Module> module_;
};

}  // namespace headrace::inline v1::models
