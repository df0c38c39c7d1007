#include <headrace/engine/base/error.h>
#include <headrace/models/networks/checkpointed.h>
#include <headrace/models/networks/detail/run_state.h>

#include <algorithm>
#include <set>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace headrace::inline v1::models {

namespace {

using torch::autograd::AutogradContext;

thread_local bool inside_block = false;

class Running {
 public:
  Running() {
    if (inside_block)
      throw ConfigError(
          "[checkpointed] a block must not have another inside, which would run three times; "
          "checkpoint either the outer or the inner ones");
    inside_block = true;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { inside_block = false; }
};

// Off while a block runs without gradients: a cast of a weight would be kept without its graph, and
// whoever uses the weight next would get it.
class NoCastCache {
 public:
  NoCastCache() { at::autocast::set_autocast_cache_enabled(false); }
  NoCastCache(const NoCastCache&) = delete;
  NoCastCache& operator=(const NoCastCache&) = delete;
  ~NoCastCache() { at::autocast::set_autocast_cache_enabled(before_); }

 private:
  bool before_ = at::autocast::is_autocast_cache_enabled();
};

// While this lives the buffers of modules hold copies: what moves them moves the copies.
class SpareBuffers {
 public:
  explicit SpareBuffers(const Block& block) {
    std::set<at::TensorImpl*> seen;
    for (const auto& module : block.modules)
      for (at::Tensor& buffer : module->buffers())
        if (buffer.defined() && seen.insert(buffer.unsafeGetTensorImpl()).second) spare(buffer);
  }
  SpareBuffers(const SpareBuffers&) = delete;
  SpareBuffers& operator=(const SpareBuffers&) = delete;
  ~SpareBuffers() {
    for (auto& [buffer, own] : kept_)
      buffer.set_data(own);
  }

 private:
  void spare(at::Tensor& buffer) {
    kept_.emplace_back(buffer, buffer.variable_data());
    buffer.set_data(buffer.detach().clone());
  }

  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;
};

// Each once, those that are trained.
Tensors trained_parameters(const Block& block) {
  Tensors parameters;
  std::set<at::TensorImpl*> seen;
  for (const auto& module : block.modules)
    for (const at::Tensor& parameter : module->parameters())
      if (parameter.requires_grad() && seen.insert(parameter.unsafeGetTensorImpl()).second)
        parameters.push_back(parameter);
  return parameters;
}

std::vector<bool> modes_of(const Block& block) {
  std::vector<bool> modes;
  for (const auto& module : block.modules)
    for (const auto& part : module->modules())
      modes.push_back(part->is_training());
  return modes;
}

// What the backward pass needs beside tensors.
struct Recipe : torch::CustomClassHolder {
  Recipe(const Block& of, std::size_t input_count, const Tensors& tensors)
      : block(of),
        inputs(input_count),
        state(detail::RunState::now(tensors)),
        modes(modes_of(of)) {}

  Block block;
  std::size_t inputs;
  detail::RunState state;
  std::vector<bool> modes;
};

Tensors run_again(const Recipe& recipe, const Tensors& inputs) {
  if (modes_of(recipe.block) != recipe.modes)
    throw ConfigError(
        "[checkpointed] modules must be in the mode of the forward pass, training or evaluation, "
        "until the backward pass is done; call set_training behind it");
  const Running running;
  const detail::Replay replay(recipe.state);
  const SpareBuffers spare(recipe.block);
  const at::AutoGradMode with_gradients(true);
  return recipe.block.run(inputs);
}

// Looks at the leaves of the graph behind `outputs`.
void require_known(const Tensors& outputs, const Tensors& known) {
  std::set<at::TensorImpl*> leaves;
  for (const at::Tensor& tensor : known)
    leaves.insert(tensor.unsafeGetTensorImpl());
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open;
  const auto visit = [&](torch::autograd::Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const at::Tensor& output : outputs)
    visit(torch::autograd::impl::gradient_edge(output).function.get());
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    const auto* leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(node);
    if (leaf != nullptr && !leaves.contains(leaf->variable.unsafeGetTensorImpl()))
      throw ConfigError(
          "[checkpointed] a block may use trained tensors only of its inputs and of "
          "Block::modules, got one of " +
          c10::str(leaf->variable.sizes()) + " of neither; list its module");
    for (const torch::autograd::Edge& edge : node->next_edges())
      visit(edge.function.get());
  }
}

struct Checkpoint : torch::autograd::Function<Checkpoint> {
  // `tensors` are the inputs and, behind them, the trained parameters.
  static Tensors forward(AutogradContext* context, const c10::intrusive_ptr<Recipe>& recipe,
                         at::TensorList tensors) {
    context->set_materialize_grads(false);
    context->save_for_backward(tensors.vec());
    context->saved_data["recipe"] = c10::IValue::make_capsule(recipe);
    const NoCastCache no_cast_cache;
    return recipe->block.run(tensors.slice(0, recipe->inputs).vec());
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    if (at::GradMode::is_enabled())
      throw ConfigError(
          "[checkpointed] gradients of gradients (create_graph) must go through plain blocks; "
          "checkpoint none");
    const auto capsule = context->saved_data.at("recipe").toCapsule();
    const auto& recipe = static_cast<const Recipe&>(*capsule);
    Tensors tensors = context->get_saved_variables();
    for (std::size_t i = 0; i < recipe.inputs; ++i)
      tensors[i] = tensors[i].detach().requires_grad_(tensors[i].requires_grad());
    const Tensors outputs =
        run_again(recipe, at::TensorList(tensors).slice(0, recipe.inputs).vec());
    return gradients_of(*context, outputs, gradients, tensors);
  }

  // One for each of `tensors`, behind one for the recipe.
  static Tensors gradients_of(const AutogradContext& context, const Tensors& outputs,
                              const Tensors& gradients, const Tensors& tensors) {
    Tensors roots;
    Tensors root_gradients;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].requires_grad() || !gradients.at(i).defined()) continue;
      roots.push_back(outputs[i]);
      root_gradients.push_back(gradients[i]);
    }
    require_known(roots, tensors);
    Tensors wanted;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (context.needs_input_grad(i)) wanted.push_back(tensors[i]);
    Tensors found(1 + tensors.size());
    if (roots.empty() || wanted.empty()) return found;
    const Tensors made =
        torch::autograd::grad(roots, wanted, root_gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    auto next = made.begin();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (context.needs_input_grad(i)) found[1 + i] = *next++;
    return found;
  }
};

}  // namespace

Tensors checkpointed(const Block& block, const Tensors& inputs) {
  const Running running;
  Tensors tensors = inputs;
  const Tensors parameters = trained_parameters(block);
  tensors.insert(tensors.end(), parameters.begin(), parameters.end());
  if (!at::GradMode::is_enabled() || std::ranges::none_of(tensors, &at::Tensor::requires_grad))
    return block.run(inputs);
  return Checkpoint::apply(c10::make_intrusive<Recipe>(block, inputs.size(), tensors),
                           at::TensorList(tensors));
}

}  // namespace headrace::inline v1::models
