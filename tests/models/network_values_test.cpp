// ResNets and U-Nets beside timm's and segmentation_models.pytorch's, by values that
// reference/make_network_values.py has stored.
#include <headrace/models/networks/named_network.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/host_bytes.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using headrace::test::hashed;
using headrace::test::hashed_fill;
using headrace::test::HostBytes;

namespace {

struct Summary {
  double mean;
  double mean_of_sizes;
  std::array<double, 8> picks;
};

struct NamedValue {
  std::string name;
  double value;
};

struct Reference {
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

const std::vector<Reference> references{
#include "reference/network_values.inc"
};

NetworkOptions options_of(const Reference& reference) {
  const std::int64_t classes = reference.encoder.empty() ? 1000 : 2;
  return {.name = reference.name,
          .classes = reference.hidden.empty() ? classes : 1,
          .encoder = reference.encoder,
          .head = {.hidden = reference.hidden}};
}

at::Tensor tensor_of(const NamedTensors& tensors, const std::string& name) {
  return std::ranges::find(tensors, name, &NamedTensor::name)->tensor;
}

std::uint64_t hash_of_shapes(const Network& network) {
  std::vector<std::string> lines;
  for (const NamedTensor& item : state_of(network)) {
    std::string sides;
    for (const std::int64_t side : item.tensor.sizes())
      sides += (sides.empty() ? "" : ", ") + std::to_string(side);
    lines.push_back(item.name + " [" + sides + "]\n");
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return hashed(text);
}

// What `state` of the maker gives.
at::Tensor filled(const NamedTensor& item) {
  const at::IntArrayRef sizes = item.tensor.sizes();
  if (item.name.ends_with("num_batches_tracked")) return at::zeros_like(item.tensor);
  if (sizes.size() > 1) {
    const auto fan_in = static_cast<double>(item.tensor.numel() / sizes[0]);
    return hashed_fill(item.name, sizes, 0.0, std::sqrt(2.0 / fan_in));
  }
  if (item.name.ends_with(".weight") || item.name.ends_with(".running_var"))
    return hashed_fill(item.name, sizes, 1.0, .5);
  return hashed_fill(item.name, sizes, 0.0, .1);
}

std::unique_ptr<Network> filled_network(const Reference& reference, at::ScalarType type) {
  auto network = make_network(options_of(reference));
  for (const NamedTensor& item : state_of(*network)) {
    const at::Tensor values = filled(item);
    at::Tensor(item.tensor).set_data(values.is_floating_point() ? values.to(type) : values);
  }
  return network;
}

at::Tensor images(const Reference& reference, at::ScalarType type) {
  const std::vector<std::int64_t> sizes{2, 3, 64, 96};
  const std::vector<std::int64_t> of_head{8, 3, 32, 48};
  return hashed_fill("images", reference.hidden.empty() ? sizes : of_head, 0.0, 1.5).to(type);
}

// Absolute up to 1 and relative above.
void check_near(double got, double expected, double size, double tolerance) {
  CHECK_MESSAGE(std::abs(got - expected) <= tolerance * std::max(1.0, size),
                got << " is not " << expected);
}

void check_summary(const at::Tensor& output, const Summary& expected, double tolerance) {
  const at::Tensor flat = output.detach().to(at::kDouble).contiguous().flatten();
  const double size = expected.mean_of_sizes;
  check_near(flat.mean().item<double>(), expected.mean, size, tolerance);
  check_near(flat.abs().mean().item<double>(), size, size, tolerance);
  for (std::int64_t i = 0; i < 8; ++i)
    check_near(flat[i * (flat.numel() - 1) / 7].item<double>(),
               expected.picks[static_cast<std::size_t>(i)], size, tolerance);
}

}  // namespace

TEST_CASE("ResNets and U-Nets have the names and shapes of timm's and of their peer's") {
  CHECK(references.size() == 9);
  for (const Reference& reference : references) {
    CAPTURE(reference.name);
    CAPTURE(reference.encoder);
    const auto network = make_network(options_of(reference));
    CHECK(parameter_count(*network) == reference.parameters);
    CHECK(state_of(*network).size() == reference.tensors);
    CHECK(hash_of_shapes(*network) == reference.shapes);
  }
}

TEST_CASE("ResNets and U-Nets give the peers' logits, gradients and running statistics") {
  for (const Reference& reference : references) {
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
  for (const Reference& reference : references) {
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
  for (const Reference& reference : references) {
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
