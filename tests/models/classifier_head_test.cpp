#include <headrace/engine/base/error.h>
#include <headrace/models/networks/classifier_head.h>
#include <headrace/models/networks/named_network.h>
#include <headrace/models/networks/resnet.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

using namespace headrace::models;
using doctest::Contains;
using headrace::ConfigError;

namespace {

namespace nn = torch::nn;

struct Owner : nn::Module {
  Owner(const HeadShape& shape, const HeadOptions& options)
      : head(add_head(*this, "fc", shape, options)) {}

  nn::Sequential head;
};

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names = module.named_parameters().keys();
  const std::vector<std::string> buffers = module.named_buffers().keys();
  names.insert(names.end(), buffers.begin(), buffers.end());
  return names;
}

std::int64_t values_of_head(const Network& network) {
  std::int64_t count = 0;
  for (const NamedTensor& item : network.parameters())
    if (item.name.starts_with("fc.")) count += item.tensor.numel();
  return count;
}

// Of the dropouts in their order.
std::vector<double> dropout_of(const Owner& owner) {
  std::vector<double> found;
  for (const auto& part : *owner.head)
    if (const auto* dropout = part.ptr()->as<nn::Dropout>()) found.push_back(dropout->options.p());
  return found;
}

}  // namespace

TEST_CASE("the classifiers of retinopathy have the sizes that are known of them") {
  const auto pair = make_network({.name = "seresnext50_32x4d",
                                  .classes = 1,
                                  .head = {.hidden = {512, 128}, .dropout = {.4, .2, .2}}});
  CHECK(parameter_count(*pair) == 26'627'057);
  CHECK(values_of_head(*pair) == 1'116'161);
  const auto all =
      make_network({.name = "seresnext50_32x4d",
                    .classes = 5,
                    .head = {.hidden = {1024, 512, 256}, .dropout = {.4, .2, .1333, .1}}});
  CHECK(parameter_count(*all) == 25'510'896 + 2'759'173);
  CHECK(values_of_head(*all) == 2'759'173);
}

TEST_CASE("a head has the names of torch.nn.Sequential, without hidden layers those of a layer") {
  const Owner deep({.features = 4, .outputs = 3}, {.hidden = {6}});
  CHECK(names_of(deep) == std::vector<std::string>{"fc.1.weight", "fc.1.bias", "fc.3.weight",
                                                   "fc.3.bias", "fc.5.weight", "fc.5.bias",
                                                   "fc.3.running_mean", "fc.3.running_var",
                                                   "fc.3.num_batches_tracked"});
  const Owner plain({.features = 4, .outputs = 3}, {.dropout = {.5}});
  CHECK(names_of(plain) == std::vector<std::string>{"fc.weight", "fc.bias"});
}

TEST_CASE("dropout is given for each linear layer, for all at once, or not at all") {
  const HeadShape shape{.features = 4, .outputs = 3};
  CHECK(dropout_of({shape, {.hidden = {6, 5}, .dropout = {.4, .2, .1}}}) ==
        std::vector{.4, .2, .1});
  CHECK(dropout_of({shape, {.hidden = {6, 5}, .dropout = {.3}}}) == std::vector{.3, .3, .3});
  CHECK(dropout_of({shape, {.hidden = {6, 5}}}) == std::vector{0.0, 0.0, 0.0});
  CHECK(dropout_of({shape, {.dropout = {.2}}}) == std::vector{.2});
}

TEST_CASE("dropout works on what each linear layer gets, and only in training") {
  at::manual_seed(1);
  for (const std::vector<std::int64_t>& hidden : {std::vector<std::int64_t>{}, {8}}) {
    Owner owner({.features = 4000, .outputs = 1}, {.hidden = hidden, .dropout = {.25}});
    const at::NoGradGuard no_gradient;
    auto& linear = *owner.head[hidden.empty() ? 1 : 5]->as<nn::Linear>();
    auto& dropout = *owner.head[hidden.empty() ? 0 : 4]->as<nn::Dropout>();
    linear.weight.fill_(1.0);
    linear.bias.zero_();
    const at::Tensor rows = at::ones({64, 4000});
    owner.eval();
    const at::Tensor evaluated = owner.head->forward(rows);
    CHECK(at::equal(evaluated, owner.head->forward(rows)));
    if (hidden.empty()) CHECK(evaluated[0].item<double>() == 4000.0);
    owner.train();
    CHECK(dropout.is_training());  // also where it stands beside the layer
    const at::Tensor trained = owner.head->forward(rows);
    CHECK_FALSE(at::equal(trained, owner.head->forward(rows)));
    // Sums of 4000 values of 4/3 of which a quarter is left out: 4000, give or take 37.
    if (hidden.empty()) CHECK(std::abs(trained.mean().item<double>() - 4000.0) < 30.0);
  }
}

TEST_CASE("a ResNet without its head's dropout gives in evaluation what one with it gives") {
  at::manual_seed(2);
  const HeadOptions options{.hidden = {8}, .dropout = {.5}};
  const auto with = make_resnet({.depth = 18, .classes = 3, .width = .125, .head = options});
  const auto without =
      make_resnet({.depth = 18, .classes = 3, .width = .125, .head = {.hidden = {8}}});
  const at::NoGradGuard no_gradient;
  const NamedTensors from = state_of(*with);
  const NamedTensors into = state_of(*without);
  REQUIRE(from.size() == into.size());
  for (std::size_t i = 0; i < from.size(); ++i)
    at::Tensor(into[i].tensor).copy_(from[i].tensor);
  const at::Tensor images = at::rand({4, 3, 64, 64});
  for (Network* network : {with.get(), without.get()})
    network->set_training(false);
  CHECK(at::equal(with->forward(images), without->forward(images)));
  for (Network* network : {with.get(), without.get()})
    network->set_training(true);
  CHECK_FALSE(at::equal(with->forward(images), without->forward(images)));
}

TEST_CASE("a head that cannot be is refused with what it must be") {
  const auto make = [](const HeadOptions& options) {
    make_network({.name = "resnet18", .width = .125, .head = options});
  };
  CHECK_THROWS_WITH_AS(make({.hidden = {8, 4}, .dropout = {.4, .2}}),
                       Contains("each of 3 linear layers, one for all, or none; got 2"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make({.dropout = {.4, .2}}), Contains("each of 1 linear layers"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(make({.dropout = {1.0}}), Contains("below 1, got 1.0"), ConfigError);
  CHECK_THROWS_WITH_AS(make({.dropout = {std::nan("")}}), Contains("got nan"), ConfigError);
  CHECK_THROWS_WITH_AS(make({.hidden = {0}}), Contains("at least 1 output, got 0"), ConfigError);
}
