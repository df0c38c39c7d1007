#include <headrace/training/state_bytes.h>

namespace headrace::inline v1::training {
namespace {

std::uint64_t bytes_of(const TensorMap& tensors) {
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : tensors)
    sum += tensor.nbytes();
  return sum;
}

}  // namespace

std::uint64_t weight_bytes(const models::Network& network) {
  std::uint64_t sum = 0;
  for (const models::NamedTensor& item : models::state_of(network))
    sum += item.tensor.nbytes();
  return sum;
}

StateBytes state_bytes(const models::Network& network, const Optimizer& optimizer,
                       const WeightAverage* average) {
  StateBytes state{.weights = weight_bytes(network), .moments = bytes_of(optimizer.state())};
  for (const at::Tensor& parameter : optimizer.parameters())
    state.gradients += parameter.nbytes();
  if (average != nullptr) state.average = bytes_of(average->state());
  state.checkpoint = state.weights + state.moments + state.average;
  return state;
}

}  // namespace headrace::inline v1::training
