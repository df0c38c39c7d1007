#include <headrace/training/checkpoint_error.h>
#include <headrace/training/named_state.h>

#include <sstream>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>

namespace headrace::inline v1::training {

namespace {

TensorMap by_name(const models::Network& network) {
  TensorMap tensors;
  for (const models::NamedTensor& item : models::state_of(network))
    tensors.emplace(item.name, item.tensor);
  return tensors;
}

}  // namespace

TensorMap snapshot(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.detach();
    copies.emplace(name, values.is_cpu() ? values.clone() : values.to(at::kCPU));
  }
  return copies;
}

TensorMap snapshot(const models::Network& network) {
  return snapshot(by_name(network));
}

std::optional<std::string> first_not_finite(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (tensor.is_floating_point() && !at::isfinite(tensor).all().item<bool>()) return name;
  return std::nullopt;
}

void copy_by_name(const TensorMap& from, const TensorMap& into, const std::string& who) {
  for (const auto& [name, tensor] : into) {
    const auto found = from.find(name);
    if (found == from.end())
      throw CheckpointError(who + " \"" + name + "\" is missing from the file");
    if (found->second.sizes() != tensor.sizes()) {
      std::ostringstream message;
      message << who << " \"" << name << "\" must have the shape " << tensor.sizes()
              << ", the file has " << found->second.sizes();
      throw CheckpointError(message.str());
    }
  }
  for (const auto& [name, tensor] : from)
    if (!into.contains(name))
      throw CheckpointError(who + " the file holds the unexpected \"" + name + "\"");

  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : into)
    tensor.copy_(from.at(name));
}

void load_weights(models::Network& network, const TensorMap& weights) {
  copy_by_name(weights, by_name(network), "[weights]");
}

}  // namespace headrace::inline v1::training
