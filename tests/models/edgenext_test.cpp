// What EdgeNeXt's parts promise beside timm's values (edgenext_values_test.cpp).
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/edgenext_attention.h>
#include <headrace/models/networks/edgenext.h>
#include <headrace/models/networks/edgenext_encoder.h>
#include <headrace/models/networks/module_network.h>

#include "../support/torch_doctest.h"
#include "checkpointed_part.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

using namespace headrace::models;
using doctest::Approx;
using doctest::Contains;
using headrace::ConfigError;
using headrace::DataError;
using headrace::test::generator_state;

namespace {

namespace parts = headrace::models::detail;

using Encoder = std::shared_ptr<EdgeNeXtEncoder>;

Encoder small_encoder(double drop_path = 0.0) {
  at::manual_seed(3);
  auto encoder = std::make_shared<EdgeNeXtEncoder>(
      EdgeNeXtEncoderOptions{.size = EdgeNeXtSize::xx_small, .drop_path = drop_path});
  // Branches that count from the start.
  const at::NoGradGuard no_gradient;
  for (const auto& item : encoder->named_parameters())
    if (item.key().ends_with("gamma") || item.key().ends_with("gamma_xca")) item.value().fill_(.5);
  return encoder;
}

// Gradients of the maps' sum of squares, after the seed 5.
std::vector<at::Tensor> gradients_of(EdgeNeXtEncoder& encoder, const at::Tensor& images) {
  at::manual_seed(5);
  at::Tensor loss = at::zeros({});
  for (const at::Tensor& maps : encoder.features(images))
    loss = loss + maps.square().mean();
  loss.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : encoder.parameters())
    gradients.push_back(parameter.grad());
  return gradients;
}

}  // namespace

TEST_CASE("the positional encoding is sines and cosines of y and then of x") {
  const at::Tensor encoding = parts::fourier_encoding(4, 6, at::kDouble);
  REQUIRE(encoding.sizes() == at::IntArrayRef{1, 64, 4, 6});
  const at::Tensor at_place = encoding[0].select(1, 0).select(1, 2);
  const auto value = [&](std::int64_t channel) { return at_place[channel].item<double>(); };
  const std::array<double, 4> y{1.0, 3.927e-7, .772852, .634586};
  const std::array<double, 4> x{5.236e-7, -1.0, .980882, -.194601};
  for (std::size_t i = 0; i < 4; ++i) {
    const double tolerance = std::abs(y[i]) < 1e-3 || std::abs(x[i]) < 1e-3 ? 1e-10 : 1e-6;
    CHECK(std::abs(value(static_cast<std::int64_t>(i)) - y[i]) < tolerance);
    CHECK(std::abs(value(32 + static_cast<std::int64_t>(i)) - x[i]) < tolerance);
  }
  const at::Tensor in_float = parts::fourier_encoding(4, 6, at::kFloat);
  CHECK((in_float.scalar_type() == at::kFloat));
  CHECK(at::equal(in_float, encoding.to(at::kFloat)));
}

TEST_CASE("an encoder takes other sides and types in turn, and trains after evaluation") {
  const Encoder encoder = small_encoder();
  at::manual_seed(4);
  const at::Tensor wide = at::rand({1, 3, 32, 96});
  const at::Tensor high = at::rand({1, 3, 96, 32});
  at::Tensor first;
  {
    const c10::InferenceMode inference;
    encoder->eval();
    first = encoder->features(wide).back().clone();
    encoder->features(high);
  }
  encoder->train();
  CHECK(at::equal(encoder->features(wide).back(), first));
  gradients_of(*encoder, high);
  encoder->to(at::kDouble);
  const at::Tensor exact = encoder->features(wide.to(at::kDouble)).back();
  CHECK((exact - first).abs().max().item<double>() < 1e-4);
}

TEST_CASE("attention across channels does not divide by zero in half precision") {
  const auto attention = std::make_shared<parts::CrossCovarianceAttention>(8, 2);
  const at::NoGradGuard no_gradient;
  for (const at::Tensor& parameter : attention->parameters())
    parameter.zero_();
  attention->to(at::kHalf);
  const at::Tensor mixed = attention->forward(at::ones({2, 5, 8}, at::kHalf));
  CHECK((mixed.scalar_type() == at::kHalf));
  CHECK(mixed.abs().max().item<double>() == 0.0);
}

TEST_CASE("without a rate and in evaluation nothing is left out and nothing is drawn") {
  const at::Tensor images = at::rand({2, 3, 32, 64});
  const Encoder plain = small_encoder();
  const Encoder dropping = small_encoder(.6);
  const at::Tensor before = generator_state();
  const at::Tensor expected = plain->features(images).back();
  CHECK(at::equal(generator_state(), before));
  dropping->eval();
  CHECK(at::equal(dropping->features(images).back(), expected));
  CHECK(at::equal(generator_state(), before));
  dropping->train();
  CHECK_FALSE(at::equal(dropping->features(images).back(), expected));
}

TEST_CASE("a row keeps a branch larger or leaves it out, the last block as often as was asked") {
  constexpr double rate = .6;
  constexpr std::int64_t rows = 400;
  const Encoder encoder = small_encoder(rate);
  const at::NoGradGuard no_gradient;
  // Only the last block's branch is left, and gives a constant.
  for (const auto& item : encoder->named_parameters())
    if (item.key().ends_with("gamma") || item.key().ends_with("gamma_xca")) item.value().zero_();
  const at::Tensor images = at::rand({1, 3, 32, 32}).expand({rows, -1, -1, -1});
  const at::Tensor without = encoder->features(images).back();
  encoder->named_parameters()["stages.3.blocks.1.mlp.fc2.weight"].zero_();
  encoder->named_parameters()["stages.3.blocks.1.mlp.fc2.bias"].fill_(1.0);
  encoder->named_parameters()["stages.3.blocks.1.gamma"].fill_(1.0);
  const at::Tensor branch = encoder->features(images).back() - without;
  std::int64_t left_out = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto value = branch[row].mean().item<double>();
    CHECK(branch[row].std().item<double>() < 1e-5);
    if (std::abs(value) < 1e-5)
      ++left_out;
    else
      CHECK(value == Approx(1.0 / (1.0 - rate)).epsilon(1e-5));
  }
  CHECK(std::abs(static_cast<double>(left_out) / rows - rate) < .1);  // 4 deviations
}

TEST_CASE("checkpointed blocks have the plain gradients, with rows left out too") {
  at::manual_seed(4);
  const at::Tensor images = at::rand({4, 3, 64, 32});
  for (const double rate : {0.0, .5}) {
    const Encoder plain = small_encoder(rate);
    const Encoder checkpointed = small_encoder(rate);
    checkpoint_blocks(*checkpointed, {"*"});
    const auto expected = gradients_of(*plain, images);
    const auto got = gradients_of(*checkpointed, images);
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(at::allclose(got[i], expected[i], 1e-4, 1e-7));
    }
  }
}

TEST_CASE("an encoder says its blocks") {
  const std::vector<std::string> names = small_encoder()->block_names();
  CHECK(names.size() == 13);
  CHECK(names.front() == "stem");
  CHECK(names[1] == "stages.0.blocks.0");
  CHECK(names.back() == "stages.3.blocks.1");
}

TEST_CASE("EdgeNeXt starts as timm's does") {
  at::manual_seed(1);
  const auto network = make_edgenext({.encoder = {.size = EdgeNeXtSize::small}, .classes = 1000});
  constexpr double deviation = .02 * .87962566;  // of a normal distribution cut at two of its own
  for (const NamedTensor& item : network->parameters()) {
    CAPTURE(item.name);
    const at::Tensor values = item.tensor.detach();
    const double least = values.min().item<double>();
    const double most = values.max().item<double>();
    const auto all_are = [&](double value) {
      CHECK(least == Approx(value));
      CHECK(most == Approx(value));
    };
    if (item.name.ends_with(".bias")) {
      all_are(0.0);
    } else if (item.name.find("gamma") != std::string::npos) {
      all_are(1e-6);
    } else if (values.dim() == 1 || item.name.ends_with("temperature")) {
      all_are(1.0);
    } else {
      CHECK(most <= .04 + 1e-7);
      CHECK(least >= -.04 - 1e-7);
      if (values.numel() > 50000)
        CHECK(values.std().item<double>() == Approx(deviation).epsilon(.02));
    }
  }
}

TEST_CASE("a width factor keeps EdgeNeXt's channels multiples of the heads") {
  const auto channels = [](EdgeNeXtSize size, double width) {
    return EdgeNeXtEncoder({.size = size, .width = width}).channels();
  };
  using Channels = std::array<std::int64_t, 4>;
  CHECK(channels(EdgeNeXtSize::x_small, 1.0) == Channels{32, 64, 100, 192});
  CHECK(channels(EdgeNeXtSize::base, 1.0) == Channels{80, 160, 288, 584});
  CHECK(channels(EdgeNeXtSize::x_small, .3) == Channels{8, 20, 32, 56});
  CHECK(channels(EdgeNeXtSize::base, .1) == Channels{8, 16, 32, 56});
  EdgeNeXtEncoder narrow({.size = EdgeNeXtSize::xx_small, .in_channels = 1, .width = .01});
  CHECK(narrow.channels() == Channels{8, 8, 8, 8});
  CHECK(narrow.features(at::rand({1, 1, 32, 32})).back().sizes() == at::IntArrayRef{1, 8, 1, 1});
}

TEST_CASE("EdgeNeXt refuses names, options and images with what it takes") {
  for (const std::string& name : edgenext_names())
    CHECK(edgenext_names()[static_cast<std::size_t>(edgenext_size_of(name))] == name);
  CHECK((edgenext_size_of("edgenext_base") == EdgeNeXtSize::base));
  CHECK_THROWS_WITH_AS(edgenext_size_of("edgenext_smal"),
                       Contains("one of edgenext_xx_small, edgenext_x_small, edgenext_small, "
                                "edgenext_base, got \"edgenext_smal\"; did you mean "
                                "\"edgenext_small\"?"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(EdgeNeXtEncoder({.in_channels = 0}), Contains("1 channel, got 0"),
                       ConfigError);
  CHECK_THROWS_WITH_AS(EdgeNeXtEncoder({.width = 0.0}), Contains("width"), ConfigError);
  for (const double rate : {-.1, 1.0, std::nan("")})
    CHECK_THROWS_WITH_AS(EdgeNeXtEncoder({.drop_path = rate}), Contains("drop_path must be"),
                         ConfigError);
  CHECK_THROWS_WITH_AS(make_edgenext({.classes = 0}), Contains("class"), ConfigError);
  const auto network = make_edgenext({.encoder = {.size = EdgeNeXtSize::xx_small}, .classes = 2});
  CHECK_THROWS_WITH_AS(network->forward(at::rand({1, 3, 64, 48})),
                       Contains("multiples of 32, got [1, 3, 64, 48]"), DataError);
}
