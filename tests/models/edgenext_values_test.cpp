// EdgeNeXts beside timm's, by values that reference/make_edgenext_values.py has stored.
#include <headrace/models/networks/edgenext.h>
#include <headrace/models/networks/edgenext_encoder.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/peer_values.h>

#include "../support/torch_doctest.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

struct ParameterCounts {
  std::int64_t all;
  std::int64_t features;
  std::int64_t stem;
  std::int64_t head;
  std::array<std::int64_t, 4> stages;
};

struct EdgeNeXtReference {
  std::string name;
  ParameterCounts parameters;
  std::size_t tensors;
  std::uint64_t shapes;  // hash of the sorted names and shapes
  double kept;           // values for the backward pass, for each pixel of the input
  Summary logits;
  std::vector<Summary> maps;
  std::vector<NamedValue> gradients;
};

const std::vector<EdgeNeXtReference> edgenext_references{
#include "reference/edgenext_values.inc"
};

std::unique_ptr<Network> network_of(const EdgeNeXtReference& reference, at::ScalarType type) {
  auto network = make_network({.name = reference.name, .classes = 1000});
  fill(*network, type);
  return network;
}

// The encoder of such a network, with its weights.
std::shared_ptr<EdgeNeXtEncoder> encoder_of(const EdgeNeXtReference& reference,
                                            at::ScalarType type) {
  auto encoder = std::make_shared<EdgeNeXtEncoder>(
      EdgeNeXtEncoderOptions{.size = edgenext_size_of(reference.name)});
  for (const auto& item : encoder->named_parameters())
    at::Tensor(item.value()).set_data(filled({item.key(), item.value()}).to(type));
  return encoder;
}

at::Tensor images(at::ScalarType type) {
  return hashed_fill("images", {2, 3, 64, 96}, 0.0, 1.5).to(type);
}

std::int64_t count_of(const NamedTensors& parameters, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedTensor& item : parameters)
    if (item.name.starts_with(prefix)) count += item.tensor.numel();
  return count;
}

double largest_gap(const at::Tensor& got, const at::Tensor& expected) {
  return (got - expected).abs().max().item<double>();
}

}  // namespace

TEST_CASE("EdgeNeXts have timm's names, shapes and counts of parameters") {
  REQUIRE(edgenext_references.size() == 4);
  for (const EdgeNeXtReference& reference : edgenext_references) {
    CAPTURE(reference.name);
    const auto network = make_network({.name = reference.name, .classes = 1000});
    const NamedTensors parameters = network->parameters();
    CHECK(network->buffers().empty());
    CHECK(parameters.size() == reference.tensors);
    CHECK(hash_of_shapes(*network) == reference.shapes);
    CHECK(parameter_count(*network) == reference.parameters.all);
    CHECK(count_of(parameters, "stem.") == reference.parameters.stem);
    CHECK(count_of(parameters, "head.") == reference.parameters.head);
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(count_of(parameters, "stages." + std::to_string(i) + '.') ==
            reference.parameters.stages[i]);
    std::int64_t features = 0;
    for (const at::Tensor& parameter : encoder_of(reference, at::kFloat)->parameters())
      features += parameter.numel();
    CHECK(features == reference.parameters.features);
  }
  CHECK(edgenext_references.front().tensors == 160);
  CHECK(edgenext_references.back().tensors == 214);
  CHECK(edgenext_references.back().parameters.all == 18511292);
}

TEST_CASE("EdgeNeXts give timm's logits and gradients") {
  for (const EdgeNeXtReference& reference : edgenext_references) {
    CAPTURE(reference.name);
    const auto network = network_of(reference, at::kDouble);
    const at::Tensor logits = network->forward(images(at::kDouble));
    check_summary(logits, reference.logits, 1e-10);
    (logits * hashed_fill("target", logits.sizes(), 0.0, 1.0)).mean().backward();
    for (const NamedValue& gradient : reference.gradients) {
      CAPTURE(gradient.name);
      const double got =
          tensor_of(network->parameters(), gradient.name).grad().norm().item<double>();
      CHECK(got == doctest::Approx(gradient.value).epsilon(1e-8));
    }
  }
}

TEST_CASE("EdgeNeXts give timm's four maps") {
  for (const EdgeNeXtReference& reference : edgenext_references) {
    CAPTURE(reference.name);
    const auto encoder = encoder_of(reference, at::kDouble);
    const at::NoGradGuard no_gradient;
    const auto maps = encoder->features(images(at::kDouble));
    for (std::size_t i = 0; i < maps.size(); ++i) {
      CHECK(maps[i].sizes() == at::IntArrayRef{2, encoder->channels()[i], 16 >> i, 24 >> i});
      check_summary(maps[i], reference.maps[i], 1e-10);
    }
  }
}

TEST_CASE("EdgeNeXts in float32 are timm's within 1e-4 and the same in both layouts within 1e-5") {
  for (const EdgeNeXtReference& reference : edgenext_references) {
    CAPTURE(reference.name);
    const auto encoder = encoder_of(reference, at::kFloat);
    const auto network = network_of(reference, at::kFloat);
    const at::Tensor plain = images(at::kFloat);
    const at::Tensor channels_last = plain.contiguous(at::MemoryFormat::ChannelsLast);
    const at::NoGradGuard no_gradient;
    const auto maps = encoder->features(plain);
    const at::Tensor logits = network->forward(plain);
    network->move_to(at::kCPU, /*channels_last=*/true);
    for (const at::Tensor& parameter : encoder->parameters())
      if (parameter.dim() == 4)
        parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
    const auto laid_out = encoder->features(channels_last);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      check_summary(maps[i], reference.maps[i], 1e-4);
      CHECK(largest_gap(laid_out[i], maps[i]) < 1e-5);
      CHECK(laid_out[i].is_contiguous(at::MemoryFormat::ChannelsLast));
    }
    check_summary(logits, reference.logits, 1e-4);
    CHECK(largest_gap(network->forward(channels_last), logits) < 1e-5);
  }
}

TEST_CASE("an EdgeNeXt keeps no more for its backward pass than timm's") {
  for (const EdgeNeXtReference& reference : edgenext_references) {
    CAPTURE(reference.name);
    const auto network = make_network({.name = reference.name, .classes = 1000});
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const at::Tensor input = images(at::kFloat);
    const at::Tensor output = network->forward(input);
    const double kept = static_cast<double>(bytes->now()) /
                        (sizeof(float) * static_cast<double>(input.numel() / 3));
    CHECK(kept < 1.05 * reference.kept);
  }
}
