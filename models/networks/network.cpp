#include <headrace/engine/base/error.h>
#include <headrace/models/networks/network.h>

#include <utility>

namespace headrace::inline v1::models {

Output Network::outputs(const at::Tensor& input) {
  return {.main = forward(input)};
}

void Network::freeze_norms(bool on) {
  if (on)
    throw ConfigError(
        "[network] freeze_norms(true) must be known to the network, got one that has none; "
        "override Network::freeze_norms");
}

std::vector<std::string> Network::blocks() const {
  return {};
}

void Network::checkpoint(const std::vector<std::string>& patterns) {
  if (!patterns.empty())
    throw ConfigError("[network] each pattern of checkpointed blocks must fit a block, got \"" +
                      patterns.front() +
                      "\" for a network that names none; override Network::checkpoint");
}

NamedTensors state_of(const Network& network) {
  NamedTensors state = network.parameters();
  for (NamedTensor& buffer : network.buffers())
    state.push_back(std::move(buffer));
  return state;
}

std::int64_t parameter_count(const Network& network) {
  std::int64_t count = 0;
  for (const NamedTensor& parameter : network.parameters())
    count += parameter.tensor.numel();
  return count;
}

}  // namespace headrace::inline v1::models
