#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/process_memory.h>
#include <headrace/training/memory/memory_report.h>
#include <headrace/training/memory/tensor_memory.h>

#include <algorithm>

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

namespace {

using monitor::format_bytes;

}  // namespace

MemoryOwners owners_of(const StateBytes& state) {
  MemoryOwners owners{{.name = "weights", .bytes = state.weights},
                      {.name = "gradients", .bytes = state.gradients},
                      {.name = "moments", .bytes = state.moments},
                      {.name = "averaged weights", .bytes = state.average}};
  std::erase_if(owners, [](const MemoryOwner& owner) { return owner.bytes == 0; });
  return owners;
}

std::string report_of_lack(const std::string& who, const std::string& lack, c10::Device device,
                           MemoryOwners owners) {
  const TensorMemory memory = tensor_memory(device);
  std::uint64_t known = 0;
  for (const MemoryOwner& owner : owners)
    known += owner.bytes;
  owners.push_back(
      {.name = "activations and all else", .bytes = memory.peak - std::min(memory.peak, known)});
  const auto largest = std::ranges::max_element(owners, {}, &MemoryOwner::bytes);
  std::string text = "[memory] " + who + " ran out: " + lack;
  if (device.is_cpu()) text += "; free " + format_bytes(monitor::read_host_memory().room());
  text += "; reserved but unused " + format_bytes(memory.reserved - memory.allocated) +
          "; most is held by " + std::string(largest->name) + ", " + format_bytes(largest->bytes);
  if (4 * memory.inactive_split > memory.reserved)
    text += "; much of it lies in pieces: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  return text;
}

}  // namespace headrace::inline v1::training
