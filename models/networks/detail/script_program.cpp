#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_file.h>
#include <headrace/models/networks/detail/script_program.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

namespace headrace::inline v1::models::detail {

namespace {

using torch::jit::Node;

std::shared_ptr<torch::jit::Graph> inlined_forward(const torch::jit::Module& module) {
  torch::jit::Function& forward = module.get_method("forward").function();
  std::shared_ptr<torch::jit::Graph> graph = torch::jit::toGraphFunction(forward).graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

// Calls visit(node) for each node, those of branches and loops too.
template <typename Visit>
void for_nodes(torch::jit::Block* block, const Visit& visit) {
  for (Node* node : block->nodes()) {
    visit(node);
    for (torch::jit::Block* inner : node->blocks())
      for_nodes(inner, visit);
  }
}

void check_arguments(const c10::FunctionSchema& schema, const std::string& who) {
  const std::vector<c10::Argument>& arguments = schema.arguments();
  const bool one_tensor =
      arguments.size() > 1 && c10::TensorType::get()->isSubtypeOf(*arguments[1].type()) &&
      std::all_of(arguments.begin() + 2, arguments.end(), [](const c10::Argument& argument) {
        return argument.default_value().has_value();
      });
  if (one_tensor) return;
  std::string got;
  for (std::size_t i = 1; i < arguments.size(); ++i)
    got += (i > 1 ? ", " : "") + arguments[i].name() + ": " + arguments[i].type()->annotation_str();
  throw ConfigError(who + ": forward must take one tensor, got (" + got +
                    "); wrap the module in one whose forward(self, x) calls it, and script that");
}

bool is_tensor(const c10::TypePtr& type) {
  return type->isSubtypeOf(*c10::OptionalType::ofTensor());
}

bool is_output(const c10::TypePtr& type) {
  if (is_tensor(type) || type->kind() == c10::TypeKind::AnyType) return true;
  if (type->kind() == c10::TypeKind::TupleType || type->kind() == c10::TypeKind::ListType)
    return std::ranges::all_of(type->containedTypes(), is_tensor);
  if (const auto dict = type->cast<c10::DictType>())
    return dict->getKeyType()->kind() == c10::TypeKind::StringType &&
           is_tensor(dict->getValueType());
  return false;
}

void check_returns(const c10::FunctionSchema& schema, const std::string& who) {
  const c10::TypePtr& type = schema.returns().at(0).type();
  if (is_output(type)) return;
  throw ConfigError(
      who +
      ": forward must give a tensor, a tuple or list of tensors, or a dict of tensors "
      "by name, got " +
      type->annotation_str() + "; wrap the module in one that gives one of these");
}

// The constant that says in which mode an operation runs, if it is one.
std::optional<bool> constant_mode(const Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return std::nullopt;
  const auto constant = [&](const char* name) -> std::optional<c10::IValue> {
    const auto index = schema->argumentIndexWithName(name);
    return index ? torch::jit::toIValue(node->input(static_cast<std::size_t>(*index)))
                 : std::nullopt;
  };
  std::optional<c10::IValue> mode = constant("training");
  if (!mode) mode = constant("train");
  if (!mode || !mode->isBool()) return std::nullopt;
  if (const auto share = constant("p"); share && share->isDouble() && share->toDouble() == 0.0)
    return std::nullopt;  // dropout of nothing
  if (const auto mean = constant("running_mean"); mean && mean->isNone())
    return std::nullopt;  // normalises by the batch in either mode
  return mode->toBool();
}

void check_modes(const torch::jit::Module& module, const std::string& who) {
  const std::shared_ptr<torch::jit::Graph> graph = inlined_forward(module);
  std::map<std::string, std::size_t> found;
  std::set<bool> modes;
  for_nodes(graph->block(), [&](const Node* node) {
    const std::optional<bool> mode = constant_mode(node);
    if (!mode) return;
    ++found[node->kind().toUnqualString()];
    modes.insert(*mode);
  });
  if (found.empty()) return;
  std::string operations;
  for (const auto& [name, count] : found)
    operations += (operations.empty() ? "" : ", ") + std::to_string(count) + ' ' + name;
  const char* mode = modes.size() > 1 ? "both modes" : *modes.begin() ? "training" : "evaluation";
  throw ConfigError(who + ": BatchNorm and dropout must follow net.train() and net.eval(), got " +
                    operations + " fixed to " + mode +
                    ", as torch.jit.trace does; use torch.jit.script(net)");
}

}  // namespace

void check_program(const torch::jit::Module& module, const std::string& who) {
  const auto forward = module.find_method("forward");
  if (!forward)
    throw ConfigError(who +
                      ": must have a method forward, got none; script a torch.nn.Module that "
                      "has one");
  check_arguments(forward->function().getSchema(), who);
  check_returns(forward->function().getSchema(), who);
  check_modes(module, who);
}

ScriptProgram::ScriptProgram(torch::jit::Module module, at::Device device)
    : module_(std::move(module)) {
  std::shared_ptr<torch::jit::Graph> graph = inlined_forward(module_);
  for_nodes(graph->block(), [&](Node* node) {
    if (node->kind() != c10::prim::Constant || !node->hasAttribute(c10::attr::value) ||
        node->kindOf(c10::attr::value) != torch::jit::AttributeKind::t)
      return;
    const at::Tensor& constant = node->t(c10::attr::value);
    if (constant.dim() > 0) node->t_(c10::attr::value, constant.to(device));
  });
  forward_ = std::make_unique<torch::jit::GraphFunction>(
      c10::QualifiedName("forward"), std::move(graph), nullptr, torch::jit::SIMPLE);
  forward_->_set_ignore_amp(true);
  forward_->setSchema(module_.get_method("forward").function().getSchema());
}

c10::IValue ScriptProgram::operator()(const at::Tensor& input) {
  try {
    return (*forward_)({module_._ivalue(), input});
  } catch (const std::exception& error) {
    // The interpreter makes a std::runtime_error of what an operation throws.
    if (std::string_view(error.what()).find("out of memory") == std::string_view::npos) throw;
    TORCH_CHECK_WITH(OutOfMemoryError, false, short_message(error));
  }
}

}  // namespace headrace::inline v1::models::detail
