#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/export.h>
#include <headrace/models/networks/block_module.h>
#include <headrace/models/networks/network.h>

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

namespace headrace::inline v1::models {

namespace detail {

HEADRACE_API NamedTensors parameters_of(const torch::nn::Module& module);
HEADRACE_API NamedTensors buffers_of(const torch::nn::Module& module);
HEADRACE_API void set_mode(torch::nn::Module& module, bool training, bool frozen_norms);
HEADRACE_API void move_module(torch::nn::Module& module, at::Device device, bool channels_last);

}  // namespace detail

/// A `Network` around any LibTorch module; one that gives more than a tensor may say so by
/// `Output outputs(const at::Tensor&)`. One whose forward pass takes more, or gives anything else,
/// is called by `training::Course::forward`: `of_module<Module>(network)`.
template <typename Module>
class ModuleNetwork final : public Network {
 public:
  explicit ModuleNetwork(std::shared_ptr<Module> module)
      : module_(std::move(module)), training_(module_->is_training()) {}

  /// Throws `ConfigError` for a module without `at::Tensor forward(const at::Tensor&)`.
  at::Tensor forward(const at::Tensor& input) override {
    if constexpr (requires(Module & module) {
                    { module.forward(input) } -> std::convertible_to<at::Tensor>;
                  })
      return module_->forward(input);
    else
      throw ConfigError(
          "[network] forward(input) must be the module's, which takes or gives more than a tensor; "
          "override Course::forward");
  }
  Output outputs(const at::Tensor& input) override {
    if constexpr (requires(Module & module) {
                    { module.outputs(input) } -> std::same_as<Output>;
                  })
      return module_->outputs(input);
    else
      return Network::outputs(input);
  }
  Module& module() { return *module_; }
  NamedTensors parameters() const override { return detail::parameters_of(*module_); }
  NamedTensors buffers() const override { return detail::buffers_of(*module_); }
  void set_training(bool on) override {
    training_ = on;
    detail::set_mode(*module_, training_, frozen_norms_);
  }
  bool is_training() const override { return training_; }
  void freeze_norms(bool on) override {
    frozen_norms_ = on;
    set_training(training_);
  }
  std::vector<std::string> blocks() const override { return block_names(*module_); }
  void checkpoint(const std::vector<std::string>& patterns) override {
    checkpoint_blocks(*module_, patterns);
  }
  void move_to(at::Device device, bool channels_last) override {
    detail::move_module(*module_, device, channels_last);
  }

 private:
  std::shared_ptr<Module> module_;
  bool training_;
  bool frozen_norms_ = false;
};

/// The module inside. Throws `ConfigError` for a network of another kind.
template <typename Module>
Module& of_module(Network& network) {
  if (auto* known = dynamic_cast<ModuleNetwork<Module>*>(&network)) return known->module();
  throw ConfigError("[network] must be a ModuleNetwork of the module that is asked for");
}

}  // namespace headrace::inline v1::models
