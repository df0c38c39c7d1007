#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/script_state.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace headrace::inline v1::models::detail {

namespace {

enum class Role : unsigned char { parameter, buffer, plain };

Role role_of(const c10::ClassTypePtr& type, std::size_t slot) {
  if (type->is_parameter(slot)) return Role::parameter;
  return type->is_buffer(slot) ? Role::buffer : Role::plain;
}

// Calls visit(name, slot's object, slot) for each tensor of that role.
template <typename Visit>
void for_tensors(const torch::jit::Module& module, Role role, const Visit& visit) {
  for (const torch::jit::NameModule& part : module.named_modules()) {
    const auto object = part.value._ivalue();
    for (std::size_t slot = 0; slot < object->type()->numAttributes(); ++slot) {
      const c10::IValue& value = object->getSlot(slot);
      if (role_of(object->type(), slot) != role || !value.isTensor() || !value.toTensor().defined())
        continue;
      const std::string own = object->type()->getAttributeName(slot);
      visit(part.name.empty() ? own : part.name + '.' + own, *object, slot);
    }
  }
}

// Tensors with the same key show the same values.
using Key =
    std::tuple<const void*, at::ScalarType, std::vector<std::int64_t>, std::vector<std::int64_t>>;

Key key_of(const at::Tensor& tensor) {
  const void* values = tensor.numel() > 0 ? tensor.const_data_ptr() : tensor.unsafeGetTensorImpl();
  return {values, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec()};
}

class Collector {
 public:
  explicit Collector(torch::jit::Module& module) : module_(module) {}

  ScriptState state() && {
    for_tensors(module_, Role::parameter, [&](const std::string& name, auto& object, auto slot) {
      const bool trained = object.getSlot(slot).toTensor().requires_grad();
      add(name, object, slot, trained ? state_.parameters : state_.buffers);
    });
    for_tensors(module_, Role::buffer, [&](const std::string& name, auto& object, auto slot) {
      add(name, object, slot, state_.buffers);
    });
    for_tensors(module_, Role::plain, [&](const std::string& name, auto& object, auto slot) {
      add(name, object, slot, state_.others);
    });
    return std::move(state_);
  }

 private:
  void add(const std::string& name, c10::ivalue::Object& object, std::size_t slot,
           NamedTensors& list) {
    const at::Tensor tensor = object.getSlot(slot).toTensor();
    const auto [known, is_new] = first_.emplace(key_of(tensor), NamedTensor{name, tensor});
    if (is_new) {
      list.push_back({name, tensor});
      return;
    }
    object.setSlot(slot, known->second.tensor);
    if (&list != &state_.others) state_.aliases.push_back({.name = name, .of = known->second.name});
  }

  torch::jit::Module& module_;
  ScriptState state_;
  std::map<Key, NamedTensor> first_;
};

// Moves the buffers that `leaves` is true for.
template <typename Leaves>
void move_buffers(ScriptState& state, const Leaves& leaves) {
  const auto gone = std::ranges::stable_partition(
      state.buffers, [&](const NamedTensor& buffer) { return !leaves(buffer.name); });
  std::ranges::move(gone, std::back_inserter(state.others));
  state.buffers.erase(gone.begin(), gone.end());
}

}  // namespace

std::vector<at::Tensor> ScriptState::all() const {
  std::vector<at::Tensor> tensors;
  for (const NamedTensors* list : {&parameters, &buffers, &others})
    for (const NamedTensor& item : *list)
      tensors.push_back(item.tensor);
  return tensors;
}

ScriptState state_of_script(torch::jit::Module& module) {
  return Collector(module).state();
}

void keep_named(ScriptState& state, const std::vector<std::string>& names, const std::string& who) {
  const std::set<std::string> kept(names.begin(), names.end());
  std::set<std::string> known;
  for (const NamedTensors* list : {&state.parameters, &state.buffers})
    for (const NamedTensor& item : *list)
      known.insert(item.name);
  for (const ScriptAlias& alias : state.aliases)
    known.insert(alias.name);
  const auto refuse = [&](const std::string& name, const char* what) {
    throw ConfigError(who + ": its list state_names must be that of the same network, " + what +
                      " \"" + name + "\"; write it as \"\\n\".join(net.state_dict())");
  };
  for (const std::string& name : names)
    if (!known.contains(name)) refuse(name, "which has no");
  for (const NamedTensor& parameter : state.parameters)
    if (!kept.contains(parameter.name)) refuse(parameter.name, "and it lacks the parameter");
  move_buffers(state, [&](const std::string& name) { return !kept.contains(name); });
  std::erase_if(state.aliases,
                [&](const ScriptAlias& alias) { return !kept.contains(alias.name); });
}

void leave_out(ScriptState& state, const std::vector<std::string>& names, const std::string& who) {
  for (const std::string& name : names)
    if (std::ranges::find(state.buffers, name, &NamedTensor::name) == state.buffers.end()) {
      std::string known;
      for (const NamedTensor& buffer : state.buffers)
        known += (known.empty() ? "" : ", ") + buffer.name;
      throw ConfigError(who + ": non_persistent must name buffers of the script, got \"" + name +
                        "\"; it has " + (known.empty() ? "none" : known));
    }
  move_buffers(state, [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  });
}

void place(const std::vector<at::Tensor>& tensors, at::Device device, Layout layout) {
  for (at::Tensor tensor : tensors) {
    at::Tensor values = tensor.detach().to(device);
    if (layout == Layout::row_major) values = values.contiguous();
    if (layout == Layout::channels_last && values.dim() == 4)
      values = values.contiguous(at::MemoryFormat::ChannelsLast);
    tensor.set_data(values);
  }
}

}  // namespace headrace::inline v1::models::detail
