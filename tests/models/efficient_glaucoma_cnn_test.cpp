#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>

#include "../support/torch_doctest.h"

#include <set>
#include <string>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

using namespace headrace::models;
using doctest::Approx;

namespace {

at::Tensor parameter(const Network& network, const std::string& name) {
  for (const NamedTensor& item : network.parameters())
    if (item.name == name) return item.tensor;
  return {};
}

}  // namespace

TEST_CASE("EfficientGlaucomaCNN has 1,300,037 parameters") {
  const auto network = make_efficient_glaucoma_cnn();
  CHECK(parameter_count(*network) == 1'300'037);

  std::int64_t head = 0;
  for (const NamedTensor& item : network->parameters())
    if (item.name.starts_with("head.")) head += item.tensor.numel();
  CHECK(head == 135'173);
}

TEST_CASE("every tensor of the state has a name of its own") {
  const auto network = make_efficient_glaucoma_cnn();
  std::set<std::string> names;
  for (const NamedTensor& item : state_of(*network))
    names.insert(item.name);
  CHECK(names.size() == state_of(*network).size());
  CHECK(names.contains("block2.conv1.weight"));
  CHECK(names.contains("stem.norm.running_var"));
  CHECK(network->buffers().size() == 3 * 8);
}

TEST_CASE("EfficientGlaucomaCNN gives logits at any side from 16") {
  const auto network = make_efficient_glaucoma_cnn();
  network->set_training(false);
  for (const std::int64_t side : {16, 28, 45, 64}) {
    const at::Tensor logits = network->forward(at::rand({2, 3, side, side}));
    CHECK(logits.sizes() == at::IntArrayRef{2, 5});
    CHECK(at::isfinite(logits).all().item<bool>());
  }
  CHECK_THROWS_AS(network->forward(at::rand({2, 3, 15, 28})), headrace::DataError);
  CHECK_THROWS_AS(network->forward(at::rand({2, 1, 28, 28})), headrace::DataError);
  CHECK_THROWS_AS(network->forward(at::rand({3, 28, 28})), headrace::DataError);
}

TEST_CASE("weights start from the stated distributions") {
  at::manual_seed(11);
  const auto network = make_efficient_glaucoma_cnn();
  const at::Tensor conv = parameter(*network, "block3.conv2.weight");
  CHECK(conv.std().item<double>() == Approx(std::sqrt(2.0 / (256 * 9))).epsilon(.01));
  CHECK(parameter(*network, "head.linear1.weight").std().item<double>() ==
        Approx(.01).epsilon(.02));
  for (const char* bias : {"stem.conv.bias", "block1.conv2.bias", "head.linear2.bias"})
    CHECK(parameter(*network, bias).abs().max().item<double>() == 0.0);
  CHECK(parameter(*network, "block1.norm1.weight").min().item<double>() == 1.0);
}

TEST_CASE("the channels-last layout changes the layout and not the logits") {
  at::manual_seed(12);
  const auto network = make_efficient_glaucoma_cnn();
  network->set_training(false);
  const at::Tensor images = at::rand({4, 3, 28, 28});
  at::NoGradGuard no_gradient;
  const at::Tensor before = network->forward(images);
  network->move_to(at::kCPU, true);
  const at::Tensor after = network->forward(images.contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(parameter(*network, "block1.conv1.weight").is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(at::allclose(before, after, 1e-4, 1e-5));
}

TEST_CASE("gradients reach every parameter") {
  at::manual_seed(13);
  const auto network = make_efficient_glaucoma_cnn();
  const at::Tensor target = at::randint(5, {4}, at::kLong);
  cross_entropy(network->forward(at::rand({4, 3, 16, 16})), target).backward();
  for (const NamedTensor& item : network->parameters()) {
    CAPTURE(item.name);
    CHECK(item.tensor.grad().defined());
  }
  CHECK(parameter(*network, "stem.conv.weight").grad().abs().max().item<double>() > 0.0);
}

TEST_CASE("evaluation mode repeats its answer and training mode draws dropout") {
  at::manual_seed(14);
  const auto network = make_efficient_glaucoma_cnn();
  const at::Tensor images = at::rand({4, 3, 16, 16});
  CHECK(network->is_training());
  CHECK_FALSE(at::equal(network->forward(images), network->forward(images)));
  network->set_training(false);
  CHECK(at::equal(network->forward(images), network->forward(images)));
}
