#include <headrace/models/networks/module_network.h>

#include <algorithm>
#include <vector>

namespace headrace::inline v1::models::detail {

namespace {

NamedTensors list(const torch::OrderedDict<std::string, at::Tensor>& items) {
  NamedTensors tensors;
  tensors.reserve(items.size());
  for (const auto& item : items)
    tensors.push_back({item.key(), item.value()});
  return tensors;
}

void lay_out_channels_last(at::Tensor tensor) {
  if (tensor.dim() == 4) tensor.set_data(tensor.detach().clone(at::MemoryFormat::ChannelsLast));
}

bool is_frozen(const torch::nn::Module& module) {
  const std::vector<at::Tensor> parameters = module.parameters();
  return !parameters.empty() && std::ranges::none_of(parameters, &at::Tensor::requires_grad);
}

bool has_running_statistics(const torch::nn::Module& module) {
  const auto buffers = module.named_buffers(/*recurse=*/false);
  const at::Tensor* mean = buffers.find("running_mean");
  return mean != nullptr && mean->defined();
}

}  // namespace

NamedTensors parameters_of(const torch::nn::Module& module) {
  return list(module.named_parameters());
}

NamedTensors buffers_of(const torch::nn::Module& module) {
  return list(module.named_buffers());
}

void set_mode(torch::nn::Module& module, bool training, bool frozen_norms) {
  module.train(training);
  if (!training) return;
  for (const auto& part : module.modules())
    if (is_frozen(*part) || (frozen_norms && has_running_statistics(*part))) part->eval();
}

void move_module(torch::nn::Module& module, at::Device device, bool channels_last) {
  module.to(device);
  if (!channels_last) return;
  for (const at::Tensor& parameter : module.parameters())
    lay_out_channels_last(parameter);
  for (const at::Tensor& buffer : module.buffers())
    lay_out_channels_last(buffer);
}

}  // namespace headrace::inline v1::models::detail
