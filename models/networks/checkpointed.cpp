#include <headrace/engine/base/error.h>
#include <headrace/models/networks/checkpointed.h>
#include <headrace/models/networks/detail/run_state.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>

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

// While this lives the buffers of modules hold copies: what moves them moves the copies.
class SpareBuffers {
 public:
  explicit SpareBuffers(const Block& block) {
    std::set<at::TensorImpl*> seen;
    Tensors copies;
    for (const auto& module : block.modules)
      for (const at::Tensor& buffer : module->buffers()) {
        if (!buffer.defined() || !seen.insert(buffer.unsafeGetTensorImpl()).second) continue;
        kept_.emplace_back(buffer, buffer.variable_data());
        copies.push_back(buffer.detach().clone());
      }
    for (std::size_t i = 0; i < copies.size(); ++i)
      kept_[i].first.set_data(copies[i]);
  }
  SpareBuffers(const SpareBuffers&) = delete;
  SpareBuffers& operator=(const SpareBuffers&) = delete;
  ~SpareBuffers() {
    for (auto& [buffer, own] : kept_)
      buffer.set_data(own);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;
};

// Each once.
Tensors parameters_of(const Block& block) {
  Tensors parameters;
  std::set<at::TensorImpl*> seen;
  for (const auto& module : block.modules)
    for (const at::Tensor& parameter : module->parameters())
      if (seen.insert(parameter.unsafeGetTensorImpl()).second) parameters.push_back(parameter);
  return parameters;
}

// Numbers that differ where the modules would compute otherwise: their modes, and how often buffers
// were changed that a plain backward pass would take from the forward pass.
std::vector<std::int64_t> conditions_of(const Block& block) {
  std::vector<std::int64_t> conditions;
  for (const auto& module : block.modules)
    for (const auto& part : module->modules()) {
      conditions.push_back(part->is_training() ? 1 : 0);
      if (part->is_training()) continue;
      for (const at::Tensor& buffer : part->buffers(/*recurse=*/false))
        conditions.push_back(buffer.defined() ? buffer._version() : 0);
    }
  return conditions;
}

// What the backward pass needs beside tensors.
struct Recipe : torch::CustomClassHolder {
  Recipe(const Block& of, std::size_t input_count, const Tensors& tensors)
      : block(of), inputs(input_count), state(detail::RunState::now(tensors)) {}

  Block block;
  std::size_t inputs;
  detail::RunState state;
  std::vector<std::int64_t> conditions;
};

// The first run; `tensors` are those that are saved.
Tensors run_once(Recipe& recipe, at::TensorList tensors) {
  std::vector<std::int64_t> versions;
  for (const at::Tensor& tensor : tensors)
    versions.push_back(tensor._version());
  Tensors outputs = recipe.block.run(tensors.slice(0, recipe.inputs).vec());
  for (std::size_t i = 0; i < versions.size(); ++i)
    if (tensors[i]._version() != versions[i])
      throw ConfigError(
          "[checkpointed] a block must not change its inputs and parameters in place, "
          "which it would do twice, got one of " +
          c10::str(tensors[i].sizes()) + " that it changes; compute a new tensor");
  recipe.conditions = conditions_of(recipe.block);
  return outputs;
}

Tensors run_again(const Recipe& recipe, const Tensors& inputs) {
  if (conditions_of(recipe.block) != recipe.conditions)
    throw ConfigError(
        "[checkpointed] modules must be in the mode of the forward pass, training or evaluation, "
        "and in evaluation have its buffers, until the backward pass is done; change them behind "
        "it");
  const Running running;
  const detail::Replay replay(recipe.state);
  const SpareBuffers spare(recipe.block);
  const at::AutoGradMode with_gradients(true);
  return recipe.block.run(inputs);
}

// Of a hook's two calls the second would see what the first has made of the gradient.
void require_no_hooks(at::TensorList parameters) {
  for (const at::Tensor& parameter : parameters)
    if (!torch::autograd::impl::hooks(parameter).empty())
      throw ConfigError(
          "[checkpointed] parameters must have no hooks, which would be called twice, "
          "got one of " +
          c10::str(parameter.sizes()) + " with a hook; remove it, or do not checkpoint its block");
}

// Looks at the leaves of the graph behind `outputs`. Parameters of the block that are not among
// `tensors` were frozen in the first run.
void require_known(const Tensors& outputs, const Tensors& tensors, const Block& block) {
  std::set<at::TensorImpl*> leaves;
  for (const Tensors& known : {tensors, parameters_of(block)})
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
    return run_once(*recipe, tensors);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    if (at::GradMode::is_enabled())
      throw ConfigError(
          "[checkpointed] gradients of gradients (create_graph) must go through plain blocks; "
          "checkpoint none");
    const auto capsule = context->saved_data.at("recipe").toCapsule();
    const auto& recipe = static_cast<const Recipe&>(*capsule);
    Tensors tensors = context->get_saved_variables();
    require_no_hooks(at::TensorList(tensors).slice(recipe.inputs));
    for (std::size_t i = 0; i < recipe.inputs; ++i)
      tensors[i] = tensors[i].detach().requires_grad_(tensors[i].requires_grad());
    // Less those that were frozen since.
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      wanted.push_back(context->needs_input_grad(i) && tensors[i].requires_grad());
    const Tensors outputs =
        run_again(recipe, at::TensorList(tensors).slice(0, recipe.inputs).vec());
    return gradients_of(recipe, {outputs, gradients}, tensors, wanted);
  }

  struct Results {
    const Tensors& outputs;
    const Tensors& gradients;
  };

  // One for each of `tensors`, behind one for the recipe.
  static Tensors gradients_of(const Recipe& recipe, const Results& results, const Tensors& tensors,
                              const std::vector<bool>& wanted) {
    if (results.outputs.size() != results.gradients.size())
      throw ConfigError(
          "[checkpointed] a block must give the same when it runs again, got " +
          std::to_string(results.outputs.size()) + " tensors after " +
          std::to_string(results.gradients.size()) +
          "; it must depend on nothing but inputs, modules and LibTorch's generators");
    Tensors roots;
    Tensors root_gradients;
    for (std::size_t i = 0; i < results.outputs.size(); ++i) {
      if (!results.outputs[i].requires_grad() || !results.gradients[i].defined()) continue;
      roots.push_back(results.outputs[i]);
      root_gradients.push_back(results.gradients[i]);
    }
    require_known(roots, tensors, recipe.block);
    Tensors leaves;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (wanted[i]) leaves.push_back(tensors[i]);
    Tensors found(1 + tensors.size());
    if (roots.empty() || leaves.empty()) return found;
    const Tensors made =
        torch::autograd::grad(roots, leaves, root_gradients, /*retain_graph=*/false,
                              /*create_graph=*/false, /*allow_unused=*/true);
    auto next = made.begin();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (wanted[i]) found[1 + i] = *next++;
    return found;
  }
};

}  // namespace

Tensors checkpointed(const Block& block, const Tensors& inputs) {
  const Running running;
  Tensors tensors = inputs;
  std::ranges::copy_if(parameters_of(block), std::back_inserter(tensors),
                       &at::Tensor::requires_grad);
  if (!at::GradMode::is_enabled() || std::ranges::none_of(tensors, &at::Tensor::requires_grad))
    return block.run(inputs);
  return Checkpoint::apply(c10::make_intrusive<Recipe>(block, inputs.size(), tensors),
                           at::TensorList(tensors));
}

}  // namespace headrace::inline v1::models
