// ResNets and U-Nets beside timm's and segmentation_models.pytorch's, by values that
// reference/make_network_values.py has stored.
#include <headrace/models/networks/named_network.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/peer_values.h>
#include <headrace/tests/training/one_thread.h>

#include "../support/torch_doctest.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

struct NetworkReference {
  std::string name;
  std::string encoder;
  std::vector<std::int64_t> hidden;  // of the head
  std::int64_t parameters;
  std::size_t tensors;
  std::uint64_t shapes;  // hash of the sorted names and shapes
  double kept;           // values for the backward pass, for each pixel of the input
  Summary evaluated;
  Summary trained;
  std::vector<NamedValue> gradients;
  std::vector<NamedValue> buffers;  // after a training step
};

const std::vector<NetworkReference> network_references{
#include "reference/network_values.inc"
};

NetworkOptions options_of(const NetworkReference& reference) {
  const std::int64_t classes = reference.encoder.empty() ? 1000 : 2;
  return {.name = reference.name,
          .classes = reference.hidden.empty() ? classes : 1,
          .encoder = reference.encoder,
          .head = {.hidden = reference.hidden}};
}

std::unique_ptr<Network> filled_network(const NetworkReference& reference, at::ScalarType type) {
  auto network = make_network(options_of(reference));
  fill(*network, type);
  return network;
}

at::Tensor images(const NetworkReference& reference, at::ScalarType type) {
  const std::vector<std::int64_t> sizes{2, 3, 64, 96};
  const std::vector<std::int64_t> of_head{8, 3, 32, 48};
  return hashed_fill("images", reference.hidden.empty() ? sizes : of_head, 0.0, 1.5).to(type);
}

}  // namespace

TEST_CASE("ResNets and U-Nets have the names and shapes of timm's and of their peer's") {
  CHECK(network_references.size() == 9);
  for (const NetworkReference& reference : network_references) {
    CAPTURE(reference.name);
    CAPTURE(reference.encoder);
    const auto network = make_network(options_of(reference));
    CHECK(parameter_count(*network) == reference.parameters);
    CHECK(state_of(*network).size() == reference.tensors);
    CHECK(hash_of_shapes(*network) == reference.shapes);
  }
}

TEST_CASE("ResNets and U-Nets give the peers' logits, gradients and running statistics") {
  for (const NetworkReference& reference : network_references) {
    CAPTURE(reference.name);
    CAPTURE(reference.encoder);
    const auto network = filled_network(reference, at::kDouble);
    network->set_training(false);
    {
      const at::NoGradGuard no_gradient;
      check_summary(network->forward(images(reference, at::kDouble)), reference.evaluated, 1e-10);
    }
    network->set_training(true);
    const at::Tensor output = network->forward(images(reference, at::kDouble));
    check_summary(output, reference.trained, 1e-10);
    (output * hashed_fill("target", output.sizes(), 0.0, 1.0)).mean().backward();
    for (const NamedValue& gradient : reference.gradients) {
      CAPTURE(gradient.name);
      const at::Tensor got = tensor_of(network->parameters(), gradient.name).grad();
      check_near(got.norm().item<double>(), gradient.value, gradient.value, 1e-9);
    }
    for (const NamedValue& buffer : reference.buffers) {
      CAPTURE(buffer.name);
      const at::Tensor got = tensor_of(network->buffers(), buffer.name);
      check_near(got.norm().item<double>(), buffer.value, buffer.value, 1e-10);
    }
  }
}

TEST_CASE("floats in the channels-last layout give the peers' logits within 1e-4") {
  const headrace::training::TorchThreads two(2);  // which sum in two parts, and round less
  for (const NetworkReference& reference : network_references) {
    CAPTURE(reference.name);
    CAPTURE(reference.encoder);
    const auto network = filled_network(reference, at::kFloat);
    network->move_to(at::kCPU, true);
    const at::Tensor input =
        images(reference, at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
    const at::NoGradGuard no_gradient;
    for (const bool training : {false, true}) {
      network->set_training(training);
      check_summary(network->forward(input), training ? reference.trained : reference.evaluated,
                    1e-4);
    }
  }
}

TEST_CASE("a network keeps no more for its backward pass than its peer") {
  for (const NetworkReference& reference : network_references) {
    CAPTURE(reference.name);
    CAPTURE(reference.encoder);
    const auto network = make_network(options_of(reference));
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const at::Tensor input = images(reference, at::kFloat);
    const at::Tensor output = network->forward(input);
    const double kept = static_cast<double>(bytes->now()) /
                        (sizeof(float) * static_cast<double>(input.numel() / 3));
    CHECK(kept < 1.05 * reference.kept);  // with the logits and the statistics of the norms
  }
}
