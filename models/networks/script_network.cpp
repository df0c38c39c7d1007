#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/models/networks/detail/script_file.h>
#include <headrace/models/networks/detail/script_program.h>
#include <headrace/models/networks/detail/script_state.h>
#include <headrace/models/networks/network.h>
#include <headrace/models/networks/script_network.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>

namespace headrace::inline v1::models::detail {
namespace {

const at::Tensor& tensor_of(const c10::IValue& value, const std::string& who) {
  if (value.isTensor() && value.toTensor().defined()) return value.toTensor();
  throw ConfigError(who + ": forward must give tensors, alone, in a tuple, list or dict, got " +
                    value.tagKind());
}

Output of_sequence(c10::ArrayRef<c10::IValue> values, const std::string& who) {
  Output output;
  for (const c10::IValue& value : values) {
    if (value.isNone()) continue;
    const at::Tensor& tensor = tensor_of(value, who);
    if (output.main.defined())
      output.deep.push_back(tensor);
    else
      output.main = tensor;
  }
  if (!output.main.defined())
    throw ConfigError(who + ": forward must give a tensor at least, got an empty tuple or list");
  return output;
}

std::string main_of(const std::map<std::string, at::Tensor>& named, const std::string& main,
                    const std::string& who) {
  if (main.empty()) {
    for (const char* name : {"main", "out"})
      if (named.contains(name)) return name;
    if (named.size() == 1) return named.begin()->first;
  } else if (named.contains(main)) {
    return main;
  }
  std::string names;
  for (const auto& [name, tensor] : named)
    names += (names.empty() ? "\"" : ", \"") + name + '"';
  throw ConfigError(who + ": one of the outputs must be the main one, " +
                    (main.empty() ? "\"main\" or \"out\"" : '"' + main + '"') + ", got " +
                    (names.empty() ? "none" : names) + "; name it by the key main");
}

Output of_dict(const c10::impl::GenericDict& dict, const std::string& main,
               const std::string& who) {
  Output output;
  for (const auto& entry : dict)
    if (!entry.value().isNone())
      output.extra.emplace(entry.key().toStringRef(), tensor_of(entry.value(), who));
  output.main = output.extra.extract(main_of(output.extra, main, who)).mapped();
  return output;
}

/// What a script gave, by the rule of `read_script_network`; `main` is the option.
Output to_output(const c10::IValue& value, const std::string& main, const std::string& who) {
  if (value.isTuple()) {
    const auto tuple = value.toTuple();
    const c10::ivalue::TupleElements& elements = tuple->elements();
    return of_sequence(c10::ArrayRef<c10::IValue>(elements.begin(), elements.size()), who);
  }
  if (value.isList()) return of_sequence(value.toListRef(), who);
  if (value.isGenericDict()) return of_dict(value.toGenericDict(), main, who);
  return {.main = tensor_of(value, who)};
}

}  // namespace
}  // namespace headrace::inline v1::models::detail

namespace headrace::inline v1::models {

namespace {

bool is_frozen(const torch::jit::Module& module) {
  bool any = false;
  for (const at::Tensor& parameter : module.parameters()) {
    if (parameter.requires_grad()) return false;
    any = true;
  }
  return any;
}

bool has_running_statistics(const torch::jit::Module& module) {
  for (const torch::jit::NameTensor& buffer : module.named_buffers(/*recurse=*/false))
    if (buffer.name == "running_mean") return true;
  return false;
}

void set_mode(torch::jit::Module& module, bool training, bool frozen_norms) {
  module.train(training);
  if (!training) return;
  for (torch::jit::Module part : module.modules())
    if (is_frozen(part) || (frozen_norms && has_running_statistics(part))) part.eval();
}

class ScriptNetwork final : public Network {
 public:
  ScriptNetwork(detail::ScriptFile file, const ScriptOptions& options, std::string who)
      : file_(std::move(file)),
        state_(detail::state_of_script(file_.module)),
        program_(file_.module, at::kCPU),
        main_(options.main),
        who_(std::move(who)) {
    if (file_.state_names) detail::keep_named(state_, *file_.state_names, who_);
    detail::leave_out(state_, options.non_persistent, who_);
    set_training(true);
  }

  at::Tensor forward(const at::Tensor& input) override { return outputs(input).main; }
  Output outputs(const at::Tensor& input) override {
    return detail::to_output(program_(input), main_, who_);
  }
  NamedTensors parameters() const override { return state_.parameters; }
  NamedTensors buffers() const override { return state_.buffers; }
  void set_training(bool on) override {
    training_ = on;
    set_mode(file_.module, training_, frozen_norms_);
  }
  bool is_training() const override { return training_; }
  void freeze_norms(bool on) override {
    frozen_norms_ = on;
    set_training(training_);
  }
  void checkpoint(const std::vector<std::string>& patterns) override {
    if (!patterns.empty())
      throw ConfigError(who_ + ": a script cannot be checkpointed, got the blocks \"" +
                        patterns.front() +
                        "\": its graph is one whole, whose parts cannot run again by themselves; "
                        "leave the blocks out, or take a network by name");
  }
  void move_to(at::Device device, bool channels_last) override {
    detail::place(state_.all(), device,
                  channels_last ? detail::Layout::channels_last : detail::Layout::as_it_is);
    program_ = detail::ScriptProgram(file_.module, device);
  }

  const std::vector<ScriptAlias>& aliases() const { return state_.aliases; }

  // A copy for the CPU, which shares nothing with the network. What a stage has frozen is
  // trainable.
  detail::ScriptFile copy() const {
    detail::ScriptFile copy{.module = file_.module.deepcopy(), .state_names = file_.state_names};
    copy.module.eval();
    detail::ScriptState state = detail::state_of_script(copy.module);
    detail::place(state.all(), at::kCPU, detail::Layout::row_major);
    for (NamedTensors* list : {&state.parameters, &state.buffers})
      for (NamedTensor& item : *list)
        if (std::ranges::find(state_.parameters, item.name, &NamedTensor::name) !=
            state_.parameters.end())
          item.tensor.requires_grad_(true);
    return copy;
  }

 private:
  detail::ScriptFile file_;
  detail::ScriptState state_;  // its tensors are the module's
  detail::ScriptProgram program_;
  std::string main_;
  std::string who_;
  bool training_ = true;
  bool frozen_norms_ = false;
};

void check_parameters(const torch::jit::Module& module, const std::string& who) {
  bool trained = false;
  for (const torch::jit::NameTensor& parameter : module.named_parameters()) {
    const at::ScalarType type = parameter.value.scalar_type();
    if (type != at::kFloat && type != at::kDouble)
      throw ConfigError(who + ": parameters must be float32 or float64, got " +
                        c10::toString(type) + " for \"" + parameter.name +
                        "\"; script net.float(), mixed precision is a setting of the training");
    trained = trained || parameter.value.requires_grad();
  }
  if (trained) return;
  if (module.named_parameters().size() > 0)
    throw ConfigError(who +
                      ": at least one parameter must have a gradient, got none; call "
                      "net.requires_grad_(True) before torch.jit.script(net)");
  throw ConfigError(who +
                    ": must have parameters, got none, as torch.jit.freeze and "
                    "optimize_for_inference leave a network; save torch.jit.script(net) itself");
}

}  // namespace

std::unique_ptr<Network> read_script_network(const std::filesystem::path& path,
                                             const ScriptOptions& options) {
  std::string who = "[torchscript] " + path.string();
  detail::ScriptFile file = detail::load_script(path, who);
  check_parameters(file.module, who);
  detail::check_program(file.module, who);
  return std::make_unique<ScriptNetwork>(std::move(file), options, std::move(who));
}

std::vector<ScriptAlias> script_aliases(const Network& network) {
  const auto* script = dynamic_cast<const ScriptNetwork*>(&network);
  return script == nullptr ? std::vector<ScriptAlias>() : script->aliases();
}

void save_script(const Network& network, const std::filesystem::path& path) {
  const auto* script = dynamic_cast<const ScriptNetwork*>(&network);
  if (script == nullptr)
    throw ConfigError("[torchscript] " + path.string() +
                      ": only a network that was read from TorchScript can be written as it; write "
                      "safetensors");
  write_file_atomically(path, detail::format_script(script->copy()), {.who = "torchscript"});
}

}  // namespace headrace::inline v1::models
