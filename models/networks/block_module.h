#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/checkpointed.h>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <torch/nn/module.h>

namespace headrace::inline v1::models {

/// A module with blocks that can be checkpointed: it derives from this instead of
/// `torch::nn::Module`, names its blocks when it is made and runs them by `run_block`.
/// `Network::blocks` of a `ModuleNetwork` lists those of all its modules.
class HEADRACE_API BlockModule : public torch::nn::Module {
 public:
  std::vector<std::string> block_names() const;

  /// Throws `ConfigError` for a name that is none of a block.
  void checkpoint_block(const std::string& name, bool on);

 protected:
  using Modules = std::vector<std::shared_ptr<torch::nn::Module>>;

  /// `modules` are those that the block uses. Blocks do not lie inside one another. Throws
  /// `ConfigError` for a name that another block has.
  void add_block(std::string name, Modules modules);

  /// `compute(inputs...)`, a tensor, plain or as `checkpointed` does it.
  template <typename Compute, std::same_as<at::Tensor>... Inputs>
  at::Tensor run_block(const std::string& name, Compute compute, Inputs... inputs) const {
    const NamedBlock& block = blocks_[index_of(name)];
    // Without gradients an input may go as soon as the block is through with it.
    if (!block.is_checkpointed || !at::GradMode::is_enabled()) return compute(std::move(inputs)...);
    const auto run = [compute, self = weak_from_this().lock()](Tensors given) mutable {
      return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return Tensors{compute(std::move(given[i])...)};
      }
      (std::index_sequence_for<Inputs...>{});
    };
    return checkpointed({.run = run, .modules = block.modules}, {inputs...}).front();
  }

  /// `run_block` of a block that is `part.forward(maps)`; this module owns the part.
  template <typename Part>
  at::Tensor run_part(const std::string& name, Part& part, at::Tensor maps) const {
    return run_block(
        name, [&part](at::Tensor x) { return part.forward(std::move(x)); }, std::move(maps));
  }

 private:
  struct NamedBlock {
    std::string name;
    Modules modules;
    bool is_checkpointed = false;
  };

  std::size_t index_of(const std::string& name) const;

  std::vector<NamedBlock> blocks_;
};

/// Names of the blocks of a module and of all modules in it, behind the names of their modules.
HEADRACE_API std::vector<std::string> block_names(const torch::nn::Module& module);

/// Checkpoints the blocks that fit one of the patterns (`fits_pattern`), and no others. Throws
/// `ConfigError` for a pattern that fits none.
HEADRACE_API void checkpoint_blocks(torch::nn::Module& module,
                                    const std::vector<std::string>& patterns);

}  // namespace headrace::inline v1::models
