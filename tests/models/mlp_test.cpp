// The MLP beside the same layers of PyTorch, by values that reference/make_mlp_values.py has
// stored.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/mlp.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/reference/mlp_values.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <iterator>
#include <span>
#include <string>

#include <ATen/Functions.h>

using namespace headrace::models;
using headrace::test::hashed_fill;

namespace {

// What `state` of the maker gives.
at::Tensor filled_tensor(const NamedTensor& item) {
  const at::IntArrayRef sizes = item.tensor.sizes();
  if (sizes.size() > 1)
    return hashed_fill(item.name, sizes, 0.0, std::sqrt(3.0 / static_cast<double>(sizes[1])));
  if (sizes.empty()) return at::zeros_like(item.tensor);
  const bool scale =
      item.name.starts_with("bn") && (item.name.ends_with("weight") || item.name.ends_with("var"));
  return hashed_fill(item.name, sizes, scale ? 1.0 : 0.0, .3);
}

void check_all(const at::Tensor& values, std::span<const double> expected) {
  REQUIRE(values.numel() == std::ssize(expected));
  for (std::int64_t i = 0; i < values.numel(); ++i)
    CHECK(values.flatten()[i].item<double>() ==
          doctest::Approx(expected[static_cast<std::size_t>(i)]).epsilon(1e-10).scale(1.0));
}

}  // namespace

TEST_CASE("the MLP gives the logits and gradients of PyTorch's layers") {
  const auto network = make_mlp({.features = 12, .classes = 5, .width = .125, .dropout = 0.0});
  CHECK(parameter_count(*network) == mlp_parameters);
  for (const NamedTensor& item : state_of(*network))
    at::Tensor(item.tensor).set_data(filled_tensor(item));
  const at::Tensor vectors = hashed_fill("vectors", {4, 12}, 0.0, 1.5);
  const at::Tensor logits = network->forward(vectors);
  check_all(logits, mlp_logits);
  (logits * hashed_fill("target", logits.sizes(), 0.0, 1.0)).sum().backward();
  const NamedTensors parameters = network->parameters();
  REQUIRE(parameters.size() == std::size(mlp_gradients));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    CHECK(parameters[i].name == mlp_gradients[i].name);
    CHECK(parameters[i].tensor.grad().norm().item<double>() ==
          doctest::Approx(mlp_gradients[i].norm).epsilon(1e-10).scale(1.0));
  }
  network->set_training(false);
  check_all(network->forward(vectors), mlp_evaluated);
}

TEST_CASE("the MLP leaves out a share of its hidden values while it trains, and then no longer") {
  const auto network = make_mlp({.features = 3, .classes = 2, .width = .25});
  const at::Tensor vectors = at::rand({8, 3});
  CHECK_FALSE(network->forward(vectors).equal(network->forward(vectors)));
  network->set_training(false);
  CHECK(network->forward(vectors).equal(network->forward(vectors)));
  CHECK_THROWS_AS(make_mlp({.features = 0}), headrace::ConfigError);
  CHECK_THROWS_AS(make_mlp({.dropout = 1.0}), headrace::ConfigError);
}
