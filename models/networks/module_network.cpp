#include <headrace/models/networks/module_network.h>

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

}  // namespace

NamedTensors parameters_of(const torch::nn::Module& module) {
  return list(module.named_parameters());
}

NamedTensors buffers_of(const torch::nn::Module& module) {
  return list(module.named_buffers());
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
