// Frozen parts of a network and frozen norms stay in evaluation mode, whoever changes the mode.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/module_network.h>
#include <headrace/models/networks/resnet.h>
#include <headrace/tests/models/script_modules.h>

#include "../support/torch_doctest.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Functions.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

namespace nn = torch::nn;

// A body with dropout and norm, and a head behind one more dropout.
struct Net : nn::Module {
  at::Tensor forward(const at::Tensor& input) {
    body_out = body->forward(input);
    return head(dropout(body_out));
  }

  nn::Sequential body = register_module(
      "body", nn::Sequential(nn::Linear(3, 4), nn::Dropout(.5), nn::BatchNorm1d(4)));
  nn::Dropout dropout = register_module("dropout", nn::Dropout(.5));
  nn::Linear head = register_module("head", nn::Linear(4, 2));
  at::Tensor body_out;
};

void set_trained(const Network& network, const std::string& prefix, bool trained) {
  for (const NamedTensor& parameter : network.parameters())
    if (parameter.name.starts_with(prefix)) parameter.tensor.requires_grad_(trained);
}

using TensorValues = std::map<std::string, at::Tensor>;

TensorValues values_of(const NamedTensors& tensors) {
  TensorValues values;
  for (const NamedTensor& item : tensors)
    values.emplace(item.name, item.tensor.detach().clone());
  return values;
}

// The names of those that differ.
std::vector<std::string> moved(const TensorValues& before, const NamedTensors& now) {
  std::vector<std::string> names;
  for (const NamedTensor& item : now)
    if (!at::equal(before.at(item.name), item.tensor)) names.push_back(item.name);
  return names;
}

using Names = std::vector<std::string>;
const Names statistics{"body.2.running_mean", "body.2.running_var", "body.2.num_batches_tracked"};

// The buffers that a forward pass moves.
Names moved_by_pass(Network& network, const at::Tensor& input) {
  const TensorValues before = values_of(network.buffers());
  network.forward(input);
  return moved(before, network.buffers());
}

}  // namespace

TEST_CASE("a frozen part is in evaluation mode after every mode change, the rest is not") {
  const auto net = std::make_shared<Net>();
  ModuleNetwork<Net> network(net);
  const at::Tensor input = at::rand({64, 3});
  CHECK(moved_by_pass(network, input) == statistics);

  set_trained(network, "body", false);
  for (int change = 0; change < 2; ++change) {
    network.set_training(true);
    CHECK(network.is_training());
    CHECK(moved_by_pass(network, input).empty());
    const at::Tensor first = net->body_out;
    const at::Tensor score = network.forward(input);
    CHECK(at::equal(net->body_out, first));
    CHECK_FALSE(at::equal(network.forward(input), score));  // the other dropout is on
    network.set_training(false);
    CHECK_FALSE(network.is_training());
    CHECK(at::equal(network.forward(input), network.forward(input)));
  }

  set_trained(network, "body", true);
  network.set_training(true);
  CHECK(moved_by_pass(network, input) == statistics);
  network.forward(input);
  const at::Tensor first = net->body_out;
  network.forward(input);
  CHECK_FALSE(at::equal(net->body_out, first));
}

TEST_CASE("a part is frozen with its last parameter, not with its first") {
  ModuleNetwork<Net> network(std::make_shared<Net>());
  set_trained(network, "body.2.weight", false);
  network.set_training(true);
  CHECK(moved_by_pass(network, at::rand({8, 3})) == statistics);
  set_trained(network, "body.2.bias", false);
  network.set_training(true);
  CHECK(moved_by_pass(network, at::rand({8, 3})).empty());
  CHECK(network.module().body[1]->is_training());
}

TEST_CASE(
    "a network that is wholly frozen is wholly in evaluation mode, and keeps what was asked") {
  ModuleNetwork<Net> network(std::make_shared<Net>());
  set_trained(network, "", false);
  network.set_training(true);
  CHECK(network.is_training());
  CHECK_FALSE(network.module().is_training());
  CHECK_FALSE(network.module().dropout->is_training());
  const at::Tensor input = at::rand({8, 3});
  CHECK(at::equal(network.forward(input), network.forward(input)));
  set_trained(network, "head", true);
  network.set_training(network.is_training());
  CHECK(network.module().dropout->is_training());
}

TEST_CASE("frozen norms keep their statistics and use them, while scale and shift are trained") {
  ModuleNetwork<Net> network(std::make_shared<Net>());
  const at::Tensor input = at::rand({8, 3});
  network.freeze_norms(true);
  CHECK(moved_by_pass(network, input).empty());
  CHECK(network.module().body[1]->is_training());
  for (const bool training : {false, true}) {
    network.set_training(training);
    CHECK_FALSE(network.module().body[2]->is_training());
  }
  network.forward(input).sum().backward();
  CHECK(network.module().body[2]->named_parameters()["weight"].grad().abs().sum().item<double>() >
        0.0);

  network.set_training(false);
  network.freeze_norms(false);
  CHECK(moved_by_pass(network, input).empty());  // still evaluating
  network.set_training(true);
  CHECK(moved_by_pass(network, input) == statistics);
}

TEST_CASE("of a ResNet with frozen norms no statistics move") {
  const auto network = make_resnet({.depth = 18, .classes = 3, .width = .125});
  network->freeze_norms(true);
  network->set_training(true);
  CHECK(moved_by_pass(*network, at::rand({2, 3, 40, 40})).empty());
  network->freeze_norms(false);
  CHECK(moved_by_pass(*network, at::rand({2, 3, 40, 40})).size() == network->buffers().size());
}

TEST_CASE("norms without running statistics are as they were under frozen norms") {
  ModuleNetwork<nn::SequentialImpl> network(
      nn::Sequential(nn::Linear(3, 4),
                     nn::BatchNorm1d(nn::BatchNorm1dOptions(4).track_running_stats(false)))
          .ptr());
  network.freeze_norms(true);
  network.set_training(true);
  CHECK(network.module()[1]->is_training());
}

TEST_CASE("frozen parts and norms of a script stay in evaluation mode, too") {
  constexpr const char* counting = R"(
def forward(self, x):
    if self.training:
        self.seen.add_(1)
    return torch.linear(x, self.weight, self.bias)
)";
  torch::jit::Module norm = script_module(counting);
  norm.register_buffer("running_mean", at::zeros({4}));
  torch::jit::Module outer("outer");
  outer.register_attribute("training", c10::BoolType::get(), true);
  outer.register_module("body", script_module(counting));
  outer.register_module("norm", norm);
  outer.define("def forward(self, x):\n    return self.body.forward(x) + self.norm.forward(x)\n");
  const auto network = read_written(outer);
  const at::Tensor input = at::rand({2, 3});
  CHECK(moved_by_pass(*network, input) == Names{"body.seen", "norm.seen"});

  set_trained(*network, "body", false);
  for (int change = 0; change < 2; ++change) {
    network->set_training(false);
    CHECK(moved_by_pass(*network, input).empty());
    network->set_training(true);
    CHECK(moved_by_pass(*network, input) == Names{"norm.seen"});
  }
  network->freeze_norms(true);
  CHECK(moved_by_pass(*network, input).empty());
  set_trained(*network, "body", true);
  network->set_training(true);
  CHECK(moved_by_pass(*network, input) == Names{"body.seen"});
  network->freeze_norms(false);
  CHECK(moved_by_pass(*network, input) == Names{"body.seen", "norm.seen"});
}

TEST_CASE("a network that does not know frozen norms refuses them and names the way out") {
  struct Bare final : Network {
    at::Tensor forward(const at::Tensor& input) override { return input; }
    NamedTensors parameters() const override { return {}; }
    NamedTensors buffers() const override { return {}; }
    void set_training(bool) override {}
    bool is_training() const override { return false; }
    void move_to(at::Device, bool) override {}
  };
  Bare network;
  network.freeze_norms(false);
  CHECK_THROWS_WITH_AS(network.freeze_norms(true), doctest::Contains("freeze_norms"),
                       headrace::ConfigError);
}
