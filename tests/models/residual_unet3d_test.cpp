// ResidualUNet3D against the same layers of PyTorch: parameters, logits, gradients, memory.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/models/networks/residual_unet3d.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/peer_values.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;
using doctest::Contains;
using headrace::ConfigError;
using headrace::DataError;

namespace {

using Names = std::vector<std::string>;

struct UNet3dReference {
  const char* name;
  std::int64_t channels, classes, base, blocks;
  std::vector<std::int64_t> sizes;
  std::uint64_t shapes;               // of the sorted names and shapes
  double kept;                        // values for the backward pass, for each voxel of the input
  std::vector<Summary> outputs;       // the finest first, without dropout
  double input_gradient;              // norm
  std::vector<NamedValue> gradients;  // norms
};

#include "reference/residual_unet3d_values.inc"

std::unique_ptr<Network> network_of(const UNet3dReference& reference, at::ScalarType type) {
  auto network =
      make_residual_unet3d({.in_channels = reference.channels,
                            .classes = reference.classes,
                            .unet = {.base = reference.base, .blocks = reference.blocks}});
  fill(*network, type);
  return network;
}

at::Tensor volumes_of(const UNet3dReference& reference, at::ScalarType type) {
  return hashed_fill("images", reference.sizes, 0.0, 1.5).to(type);
}

std::vector<at::Tensor> outputs_of_volumes(Network& network, const at::Tensor& volumes) {
  Output output = network.outputs(volumes);
  std::vector<at::Tensor> all{output.main};
  all.insert(all.end(), output.deep.begin(), output.deep.end());
  return all;
}

at::Tensor loss_of_volumes(Network& network, const at::Tensor& volumes) {
  at::Tensor loss = at::zeros({}, volumes.options());
  std::size_t index = 0;
  for (const at::Tensor& output : outputs_of_volumes(network, volumes))
    loss =
        loss + (output * hashed_fill("target." + std::to_string(index++), output.sizes(), 0.0, 1.0)
                             .to(output.scalar_type()))
                   .mean();
  return loss;
}

std::int64_t count_below(const NamedTensors& parameters, const std::string& prefix) {
  std::int64_t count = 0;
  for (const NamedTensor& item : parameters)
    if (item.name.starts_with(prefix)) count += item.tensor.numel();
  return count;
}

// Small, of odd sides.
std::unique_ptr<Network> small(Unet3dOptions unet = {.base = 4, .blocks = 2}) {
  at::manual_seed(4);
  return make_residual_unet3d({.unet = unet});
}

}  // namespace

TEST_CASE("ResidualUNet3D has the parameters of its author, stage by stage") {
  const auto network = make_residual_unet3d();
  const NamedTensors parameters = network->parameters();
  CHECK(parameter_count(*network) == 33'671'604);
  const std::vector<std::int64_t> encoder{217'640, 954'640, 1'037'760, 3'816'480, 4'149'120};
  for (std::size_t stage = 0; stage < encoder.size(); ++stage)
    CHECK(count_below(parameters, "encoder_blocks." + std::to_string(stage) + '.') ==
          encoder[stage]);
  CHECK(count_below(parameters, "bottleneck.") == 15'261'760);
  const std::vector<std::int64_t> decoder{5'301'440, 1'325'920, 1'274'720, 331'760};
  for (std::size_t level = 0; level < decoder.size(); ++level)
    CHECK(count_below(parameters, "upconvs." + std::to_string(level) + '.') +
              count_below(parameters, "decoder_blocks." + std::to_string(level) + '.') ==
          decoder[level]);
  CHECK(count_below(parameters, "head.") == 41);
  CHECK(count_below(parameters, "aux_heads.") == 161 + 81 + 81);
  CHECK(parameter_count(*make_residual_unet3d({.unet = {.base = 32, .blocks = 2}})) == 14'360'260);
  CHECK(parameter_count(*make_residual_unet3d({.unet = {.deep_supervision = false}})) ==
        33'671'604 - 323);
  CHECK(network->buffers().empty());
}

TEST_CASE("names and shapes, logits and gradients are those of PyTorch's layers") {
  for (const UNet3dReference& reference : unet3d_references) {
    CAPTURE(reference.name);
    const auto network = network_of(reference, at::kDouble);
    CHECK(hash_of_shapes(*network) == reference.shapes);
    network->set_training(false);
    const at::Tensor volumes = volumes_of(reference, at::kDouble).requires_grad_();
    const std::vector<at::Tensor> outputs = outputs_of_volumes(*network, volumes);
    REQUIRE(outputs.size() == reference.outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_summary(outputs[i], reference.outputs[i], 1e-9);
    CHECK(at::equal(network->forward(volumes), outputs.front()));
    loss_of_volumes(*network, volumes).backward();
    CHECK(volumes.grad().norm().item<double>() == Approx(reference.input_gradient).epsilon(1e-9));
    const NamedTensors parameters = network->parameters();
    for (const NamedValue& gradient : reference.gradients) {
      CAPTURE(gradient.name);
      CHECK(tensor_of(parameters, gradient.name).grad().norm().item<double>() ==
            Approx(gradient.value).epsilon(1e-8));
    }
  }
}

TEST_CASE("in float32 logits are those of float64 within 1e-4") {
  for (const UNet3dReference& reference : unet3d_references) {
    CAPTURE(reference.name);
    const auto network = network_of(reference, at::kFloat);
    network->set_training(false);
    const at::NoGradGuard no_gradient;
    const auto outputs = outputs_of_volumes(*network, volumes_of(reference, at::kFloat));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      check_summary(outputs[i], reference.outputs[i], 1e-4);
  }
}

TEST_CASE("for the backward pass less than .6 are kept of what PyTorch's layers keep") {
  for (const UNet3dReference& reference : unet3d_references) {
    CAPTURE(reference.name);
    const auto network = network_of(reference, at::kFloat);
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const at::Tensor volumes = at::rand(reference.sizes);
    const Output output = network->outputs(volumes);
    const auto voxels = static_cast<double>(volumes.numel() / volumes.size(1));
    const double kept = static_cast<double>(bytes->now()) / sizeof(float) / voxels;
    CHECK(kept < .6 * reference.kept);
  }
}

TEST_CASE("logits have the sides of volumes, odd ones too, deep ones those of pooled maps") {
  const auto network = small();
  const at::NoGradGuard no_gradient;
  const Output output = network->outputs(at::rand({1, 1, 19, 33, 50}));
  CHECK(output.main.sizes() == at::IntArrayRef{1, 1, 19, 33, 50});
  REQUIRE(output.deep.size() == 3);
  CHECK(output.deep[0].sizes() == at::IntArrayRef{1, 1, 9, 16, 25});
  CHECK(output.deep[1].sizes() == at::IntArrayRef{1, 1, 4, 8, 12});
  CHECK(output.deep[2].sizes() == at::IntArrayRef{1, 1, 2, 4, 6});
  CHECK(network->forward(at::rand({2, 1, 16, 16, 32})).sizes() ==
        at::IntArrayRef{2, 1, 16, 16, 32});
}

TEST_CASE("without deep supervision there are no heads for it, and the same logits") {
  const auto with = small();
  const auto without = small({.base = 4, .blocks = 2, .deep_supervision = false});
  CHECK(count_below(without->parameters(), "aux_heads.") == 0);
  for (const NamedTensor& item : without->parameters())
    item.tensor.set_data(tensor_of(with->parameters(), item.name).detach());
  with->set_training(false);
  without->set_training(false);
  const at::Tensor volumes = at::rand({1, 1, 17, 17, 33});
  const Output output = without->outputs(volumes);
  CHECK(output.deep.empty());
  CHECK(at::equal(output.main, with->outputs(volumes).main));
}

TEST_CASE("dropout drops the share of maps that it names, in training alone") {
  const at::Tensor volumes = at::rand({1, 1, 16, 16, 32});
  const at::NoGradGuard no_gradient;
  const auto network = small({.base = 4, .blocks = 2, .dropout = .5});
  CHECK_FALSE(at::equal(network->forward(volumes), network->forward(volumes)));
  at::manual_seed(6);
  const at::Tensor drawn = network->forward(volumes);
  at::manual_seed(6);
  CHECK(at::equal(network->forward(volumes), drawn));
  network->set_training(false);
  const at::Tensor evaluated = network->forward(volumes);
  CHECK(at::equal(network->forward(volumes), evaluated));
  const auto never = small({.base = 4, .blocks = 2, .dropout = 0.0});
  CHECK(at::equal(never->forward(volumes), evaluated));
}

TEST_CASE("weights start as PyTorch's layers do") {
  at::manual_seed(7);
  const auto network = make_residual_unet3d({.unet = {.base = 16, .blocks = 1}});
  const NamedTensors parameters = network->parameters();
  // Uniform within one over the root of the inputs of a value; of transposed ones PyTorch counts
  // outputs.
  const std::vector<std::pair<std::string, double>> bounds{
      {"encoder_blocks.3.0.conv2.weight", 64 * 27},
      {"bottleneck.0.proj.weight", 64},
      {"bottleneck.0.proj.bias", 64},
      {"upconvs.0.weight", 64 * 8},
      {"upconvs.0.bias", 64 * 8},
      {"aux_heads.0.weight", 64}};
  for (const auto& [name, fan] : bounds) {
    CAPTURE(name);
    const double largest = tensor_of(parameters, name).abs().max().item<double>();
    CHECK(largest <= 1.0 / std::sqrt(fan));
    CHECK(largest > .9 / std::sqrt(fan));
  }
  CHECK(tensor_of(parameters, "bottleneck.0.norm2.weight").min().item<double>() == 1.0);
  CHECK(tensor_of(parameters, "bottleneck.0.norm2.bias").abs().max().item<double>() == 0.0);
}

TEST_CASE("each residual block is one that can be checkpointed, alone or by its stage") {
  const auto network = small();
  const Names blocks = network->blocks();
  REQUIRE(blocks.size() == 2 * (5 + 1 + 4));
  CHECK(blocks[0] == "encoder_blocks.0.0");
  CHECK(blocks[9] == "encoder_blocks.4.1");
  CHECK(blocks[10] == "bottleneck.0");
  CHECK(blocks[19] == "decoder_blocks.3.1");
  const at::Tensor volumes = at::rand({2, 1, 17, 17, 35});
  const auto step = [&](const Names& patterns) {
    network->checkpoint(patterns);
    at::manual_seed(8);
    for (const NamedTensor& item : network->parameters())
      item.tensor.mutable_grad() = at::Tensor();
    const at::Tensor loss = loss_of_volumes(*network, volumes);
    loss.backward();
    std::vector<at::Tensor> found{loss};
    for (const NamedTensor& item : network->parameters())
      found.push_back(item.tensor.grad());
    return found;
  };
  const auto plain = step({});
  for (const Names& patterns :
       {Names{"bottleneck", "decoder_blocks"}, Names{"encoder_blocks.1"}, Names{"*"}}) {
    CAPTURE(patterns.front());
    const auto found = step(patterns);
    for (std::size_t i = 0; i < plain.size(); ++i)
      CHECK(at::equal(found[i], plain[i]));
  }
}

TEST_CASE("under autocast in bfloat16 logits are near those of float, and gradients finite") {
  for (const UNet3dReference& reference : unet3d_references) {
    CAPTURE(reference.name);
    const auto network = network_of(reference, at::kFloat);
    network->set_training(false);
    const at::Tensor volumes = volumes_of(reference, at::kFloat);
    const at::Tensor logits = network->forward(volumes);
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const Output lowered = network->outputs(volumes);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    CHECK((lowered.main.scalar_type() == at::kBFloat16));
    CHECK((lowered.main - logits).abs().mean().item<double>() <
          .05 * logits.abs().mean().item<double>());
    lowered.main.sum().backward();
    CHECK(at::isfinite(tensor_of(network->parameters(), "head.weight").grad()).all().item<bool>());
  }
}

TEST_CASE("by name it has the shape that options give, and a width") {
  const auto named = make_network({.name = "residual_unet3d",
                                   .in_channels = 1,
                                   .classes = 1,
                                   .unet = {.base = 32, .blocks = 2}});
  CHECK(parameter_count(*named) == 14'360'260);
  const auto thin = make_network({.name = "residual_unet3d", .in_channels = 1, .width = .2});
  CHECK(tensor_of(thin->parameters(), "head.weight").size(1) == 8);
  const NetworkTraits traits = network_traits({.name = "residual_unet3d"});
  CHECK(traits.takes_volumes);
  CHECK_FALSE(traits.takes_pictures);
  CHECK(traits.least_side == 16);
  CHECK(traits.least_longest_side == 32);
  CHECK(traits.side_divisors == std::vector<std::int64_t>{1});
}

TEST_CASE("options that make no network and volumes that it cannot take are refused") {
  CHECK_THROWS_WITH_AS(make_residual_unet3d({.in_channels = 0}),
                       "[ResidualUNet3D] needs at least 1 channel and 1 class, got 0 and 1",
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_residual_unet3d({.classes = 0}), Contains("got 1 and 0"), ConfigError);
  CHECK_THROWS_WITH_AS(make_residual_unet3d({.unet = {.base = 0}}),
                       "[ResidualUNet3D] base and blocks must be at least 1, got 0 and 3",
                       ConfigError);
  CHECK_THROWS_WITH_AS(make_residual_unet3d({.unet = {.blocks = 0}}), Contains("got 40 and 0"),
                       ConfigError);
  for (const double share : {-.1, 1.0, std::nan("")})
    CHECK_THROWS_WITH_AS(make_residual_unet3d({.unet = {.base = 1, .dropout = share}}),
                         Contains("dropout must be at least 0 and below 1, got "), ConfigError);
  const auto network = small();
  const std::string rule =
      "[ResidualUNet3D] volumes must be [N, 1, D, H, W] with sides of at least 16, one of them of "
      "at least 32, got ";
  for (const std::vector<std::int64_t>& sizes : {std::vector<std::int64_t>{1, 1, 15, 32, 32},
                                                 {1, 1, 16, 31, 31},
                                                 {1, 2, 16, 32, 32},
                                                 {1, 32, 32, 32}}) {
    CHECK_THROWS_WITH_AS(network->forward(at::zeros(sizes)),
                         (rule + c10::str(at::IntArrayRef(sizes))).c_str(), DataError);
    CHECK_THROWS_AS(network->outputs(at::zeros(sizes)), DataError);
  }
}
