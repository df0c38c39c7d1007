// Every network with blocks: a checkpointed step is a plain one, in less memory.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/leak_cnn.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/models/networks/unet.h>
#include <headrace/tests/apps/meta_device.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/named_networks.h>
#include <headrace/tests/models/nnunet_reference.h>
#include <headrace/tests/models/script_modules.h>
#include <headrace/tests/training/one_thread.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/modules/linear.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Contains;
using headrace::ConfigError;

namespace {

using Names = std::vector<std::string>;
using Tensors = std::vector<at::Tensor>;

struct BlockCase {
  std::string name;
  std::function<std::unique_ptr<Network>()> make;
  std::vector<std::int64_t> sizes;
  bool joins = true;  // a map is used far behind, too: its gradients are summed in another order
};

std::vector<BlockCase> all_cases() {
  std::vector<BlockCase> all;
  for (const NetworkOptions& options : networks_of_any_side())
    all.push_back({options.name + options.encoder, [options] { return make_network(options); },
                   input_sizes(options, 64),
                   options.name == "unet" || options.name.starts_with("camoxpert")});
  all.push_back({"leak_cnn", [] { return make_leak_cnn(); }, {2, 1, 64, 9}, false});
  for (const Reference& reference : references)
    all.push_back({reference.name,
                   [&] { return make_nnunet(reference.residual, reference.options); },
                   reference.sizes});
  return all;
}

// A network of the seed 3 in that type.
std::unique_ptr<Network> made(const BlockCase& one, at::ScalarType type) {
  at::manual_seed(3);
  auto network = one.make();
  for (const NamedTensor& item : state_of(*network))
    if (item.tensor.is_floating_point()) at::Tensor(item.tensor).set_data(item.tensor.to(type));
  return network;
}

at::Tensor loss_of_outputs(Network& network, const at::Tensor& input) {
  const Output output = network.outputs(input);
  at::Tensor loss = output.main.square().mean();
  for (const at::Tensor& deep : output.deep)
    loss = loss + deep.square().mean();
  for (const NamedTensor& inside : output.losses)
    loss = loss + inside.tensor;
  return loss;
}

class Autocast {
 public:
  explicit Autocast(bool on) : on_(on) { at::autocast::set_autocast_enabled(at::kCPU, on_); }
  ~Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
};

struct NetworkStep {
  at::Tensor loss;
  Tensors gradients;
  Tensors buffers;
  at::Tensor generator;
};

NetworkStep step_of(Network& network, const at::Tensor& input, bool lowered = false) {
  at::manual_seed(5);
  NetworkStep step;
  {
    const Autocast autocast(lowered);
    step.loss = loss_of_outputs(network, input);
  }
  step.loss.backward();
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard lock(generator.mutex());
  step.generator = generator.get_state();
  for (const NamedTensor& item : network.parameters())
    step.gradients.push_back(item.tensor.grad());
  for (const NamedTensor& item : network.buffers())
    step.buffers.push_back(item.tensor);
  return step;
}

// The norm of what all gradients differ by, beside their own.
double off_by(const Tensors& gradients, const Tensors& expected) {
  REQUIRE(gradients.size() == expected.size());
  double off = 0.0;
  double all = 0.0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    CAPTURE(i);
    REQUIRE(gradients[i].defined() == expected[i].defined());
    if (!expected[i].defined()) continue;
    all += expected[i].to(at::kDouble).square().sum().item<double>();
    off +=
        (gradients[i].to(at::kDouble) - expected[i].to(at::kDouble)).square().sum().item<double>();
  }
  CHECK(all > 0.0);
  return std::sqrt(off / all);
}

void check_same(const NetworkStep& step, const NetworkStep& expected, double tolerance) {
  CHECK(at::equal(step.loss, expected.loss));
  CHECK(off_by(step.gradients, expected.gradients) <= tolerance);
  CHECK(at::equal(step.generator, expected.generator));
  REQUIRE(step.buffers.size() == expected.buffers.size());
  for (std::size_t i = 0; i < step.buffers.size(); ++i)
    CHECK(at::equal(step.buffers[i], expected.buffers[i]));
}

}  // namespace

TEST_CASE("a checkpointed step of every network is the plain one") {
  for (const BlockCase& one : all_cases()) {
    CAPTURE(one.name);
    at::manual_seed(1);
    const at::Tensor values = at::rand(one.sizes, at::kDouble);
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const at::Tensor input = values.to(type);
      const auto plain = made(one, type);
      const auto checkpointed = made(one, type);
      checkpointed->checkpoint({"*"});
      // Of the U-Net over ResNet-50 1.2e-6 of its gradient's norm, some ten roundings of floats.
      const double tolerance = !one.joins ? 0.0 : type == at::kFloat ? 2e-6 : 1e-12;
      check_same(step_of(*checkpointed, input), step_of(*plain, input), tolerance);
      checkpointed->set_training(false);
      plain->set_training(false);
      check_same(step_of(*checkpointed, input), step_of(*plain, input), tolerance);
    }
  }
}

TEST_CASE("a checkpointed step in bfloat16 is the plain one in bfloat16") {
  for (BlockCase one : all_cases()) {
    CAPTURE(one.name);
    // LibTorch 2.11 on a CPU: of one of its weights (of camoxpert, whose kernels are larger than
    // its coarsest map, the last spatial attention's) two plain steps have different gradients, up
    // to infinity.
    if (one.name == "plain 3D, anisotropic" || one.name.starts_with("camoxpertedge")) continue;
    if (one.name == "residual_unet3d")  // to 3, as kernels
      one = {one.name, [] { return make_network(thin_unet3d()); }, {1, 3, 48, 48, 48}, one.joins};
    const at::Tensor input = at::rand(one.sizes);
    const auto plain = made(one, at::kFloat);
    const auto checkpointed = made(one, at::kFloat);
    checkpointed->checkpoint({"*"});
    const NetworkStep expected = step_of(*plain, input, true);
    // The order of sums matters much less than that numbers have 8 bits: of it 0.03 at most.
    const double rounding =
        off_by(step_of(*made(one, at::kFloat), input).gradients, expected.gradients);
    // Maps that four experts take have their gradients summed in bfloat16.
    const double share = one.name.starts_with("camoxpert_lean") ? 1.0 : 0.05;
    check_same(step_of(*checkpointed, input, true), expected, one.joins ? share * rounding : 0.0);
  }
}

TEST_CASE("frozen parts inside and before checkpointed blocks stay frozen, the rest is trained") {
  for (const BlockCase& one : all_cases()) {
    CAPTURE(one.name);
    const at::Tensor input = at::rand(one.sizes);
    const auto plain = made(one, at::kFloat);
    const auto checkpointed = made(one, at::kFloat);
    checkpointed->checkpoint({"*"});
    const std::size_t count = plain->parameters().size();
    for (const Network* network : {plain.get(), checkpointed.get()})
      for (std::size_t i = 0; i < count; ++i)
        if (i < count / 3 || i % 3 == 0) network->parameters()[i].tensor.requires_grad_(false);
    plain->set_training(true);
    checkpointed->set_training(true);
    check_same(step_of(*checkpointed, input), step_of(*plain, input), 1e-6);
  }
}

TEST_CASE("a network's names of tensors do not depend on its blocks") {
  for (const BlockCase& one : all_cases()) {
    CAPTURE(one.name);
    const auto network = made(one, at::kFloat);
    CHECK_FALSE(network->blocks().empty());
    for (const std::string& block : network->blocks())
      network->checkpoint({block});  // each is found by its own name
    Names names;
    for (const NamedTensor& item : state_of(*network))
      names.push_back(item.name);
    network->checkpoint({});
    Names plain;
    for (const NamedTensor& item : state_of(*one.make()))
      plain.push_back(item.name);
    CHECK(names == plain);
  }
}

TEST_CASE("networks say their blocks") {
  CHECK(make_resnet({.depth = 18, .classes = 2, .width = .125})->blocks() ==
        Names{"stem", "layer1.0", "layer1.1", "layer2.0", "layer2.1", "layer3.0", "layer3.1",
              "layer4.0", "layer4.1"});
  const Names of_resnext =
      make_resnet({.classes = 2, .width = .125, .variant = se_resnext})->blocks();
  CHECK(of_resnext.size() == 17);
  CHECK(of_resnext.back() == "layer4.2");
  const Names of_unet = make_unet({.encoder = 18, .width = .125})->blocks();
  CHECK(of_unet.size() == 14);
  CHECK(of_unet.front() == "encoder.stem");
  CHECK(of_unet.back() == "decoder.blocks.4");
  const NnUNetOptions options{.dims = 2,
                              .features_per_stage = {2, 3},
                              .n_blocks_per_stage = {1, 2},
                              .n_conv_per_stage_decoder = {1}};
  CHECK(make_nnunet(false, options)->blocks() ==
        Names{"encoder.stages.0", "encoder.stages.1", "decoder.stages.0"});
  CHECK(make_nnunet(true, options)->blocks() ==
        Names{"encoder.stem", "encoder.stages.0.blocks.0", "encoder.stages.1.blocks.0",
              "encoder.stages.1.blocks.1", "decoder.stages.0"});
}

TEST_CASE("patterns choose blocks, and one that fits none is refused with what there is") {
  const auto network = make_resnet({.depth = 18, .classes = 2, .width = .125});
  CHECK_THROWS_WITH_AS(network->checkpoint({"layer1", "layr2"}),
                       Contains("got \"layr2\" that fits none; the blocks are stem, layer1.0"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(read_written(script_module(headrace::test::linear))->checkpoint({"*"}),
                       Contains("a script cannot be checkpointed"), ConfigError);
  read_written(script_module(headrace::test::linear))->checkpoint({});
  ModuleNetwork<torch::nn::LinearImpl> bare(torch::nn::Linear(3, 4).ptr());
  CHECK(bare.blocks().empty());
  bare.checkpoint({});
  CHECK_THROWS_WITH_AS(bare.checkpoint({"*"}), Contains("names no blocks"), ConfigError);
}

TEST_CASE(
    "the more blocks are checkpointed, the less memory a step takes, and none again gives all") {
  const auto network = make_resnet({.depth = 18, .classes = 2, .width = .25});
  const at::Tensor images = at::rand({4, 3, 128, 128});
  const auto step = [&] { network->forward(images).sum().backward(); };
  step();  // gradients of the parameters are there from now on
  const double plain = peak_of(step);
  network->checkpoint({"layer1"});
  const double some = peak_of(step);
  network->checkpoint({"*"});
  const double all = peak_of(step);
  CHECK(some < .85 * plain);
  CHECK(all < .8 * plain);
  network->checkpoint({});
  CHECK(peak_of(step) == plain);
}

TEST_CASE("every network takes less memory in a checkpointed step") {
  const headrace::training::TorchThreads two(2);  // one takes less scratch for a plain step
  std::vector<BlockCase> cases = all_cases();
  for (BlockCase& one : cases) {
    CAPTURE(one.name);
    if (one.sizes.size() == 2) one.sizes[0] = 4096;
    if (one.name.find("resne") != std::string::npos) one.sizes = {2, 3, 128, 128};
    if (one.name.starts_with("camoxpert")) one.sizes = {2, 3, 96, 96};
    if (one.name == "leak_cnn") one.sizes[0] = 32;
    // LibTorch's convolutions of smaller ones take scratch on the CPU, more than all maps.
    if (one.name == "residual_unet3d") one.sizes = {1, 3, 64, 96, 32};
    const auto network = made(one, at::kFloat);
    const at::Tensor input = at::rand(one.sizes);
    const auto step = [&] { loss_of_outputs(*network, input).backward(); };
    give_gradients(*network);
    const double plain = peak_of(step);
    network->checkpoint({"*"});
    const double less = peak_of(step);
    CHECK(less < .85 * plain);
  }
}

TEST_CASE("without gradients a checkpointed network takes no more memory than a plain one") {
  for (const BlockCase& one : all_cases()) {
    CAPTURE(one.name);
    const auto network = made(one, at::kFloat);
    network->set_training(false);
    const at::Tensor input = at::rand(one.sizes);
    const auto evaluate = [&] {
      const at::NoGradGuard no_gradient;
      network->forward(input);
    };
    const double plain = peak_of(evaluate);
    network->checkpoint({"*"});
    CHECK(peak_of(evaluate) <= 1.05 * plain);
  }
}

TEST_CASE("no checkpointed step reads a value on the host or copies to the device") {
  for (const BlockCase& one : all_cases()) {
    CAPTURE(one.name);
    auto network = one.make();
    network->move_to(at::kCPU, true);
    MetaNetwork meta(std::move(network), /*lowered=*/false);
    meta.checkpoint({"*"});
    const HostCopies copies;
    loss_of_outputs(meta, at::empty(one.sizes, at::device(at::kMeta))).backward();
    CHECK(copies.found().empty());
    for (const NamedTensor& item : meta.parameters())
      CHECK(item.tensor.grad().sizes() == item.tensor.sizes());
  }
}
