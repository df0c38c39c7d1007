#pragma once

#include <headrace/engine/base/export.h>

#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

namespace headrace::inline v1::models {

using Tensors = std::vector<at::Tensor>;

/// A part of a network that can be run twice with the same result. `run` draws from no generators
/// but LibTorch's default ones, changes no input in place, and gives what does not depend on the
/// buffers that it moves itself.
struct Block {
  std::function<Tensors(Tensors)> run;
  /// All whose parameters and buffers `run` uses.
  std::vector<std::shared_ptr<torch::nn::Module>> modules = {};
};

/// What `block.run(inputs)` gives, with activation checkpointing (Chen et al., arXiv 1604.06174):
/// of what the block computes nothing is kept for the backward pass, which runs it again from its
/// inputs. `inputs` are defined and of any types, the block's own data too: parameters have their
/// gradients, whether or not an input has one.
///
/// Results, gradients, buffers (running statistics move once) and generators are those of a plain
/// run. For the second run the default generators of the CPU and of the tensors' GPUs, autocast and
/// the gradient mode are those of the first, and afterwards what they were; nothing waits for a
/// device. Without a gradient to compute the block just runs. Outputs of floating point all require
/// a gradient; those that are views must not be changed in place.
///
/// Throws `ConfigError` for blocks inside one another and for a block that changes its inputs or
/// parameters in place; in the backward pass for gradients of gradients (`create_graph`), for
/// trained parameters that belong to none of `modules` or have hooks, and for modules whose mode,
/// training or evaluation, has changed since, or whose buffers in evaluation. LibTorch's error
/// there for inputs or parameters that were changed in place. Any thread, the backward pass on
/// another one too; a module on one at a time, and no other thread draws from the default
/// generators while a block runs.
HEADRACE_API Tensors checkpointed(const Block& block, const Tensors& inputs);

}  // namespace headrace::inline v1::models
