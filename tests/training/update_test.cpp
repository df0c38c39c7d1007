#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <headrace/models/cross_entropy.h>
#include <headrace/models/efficient_glaucoma_cnn.h>
#include <headrace/models/focal_loss.h>
#include <headrace/training/named_state.h>
#include <headrace/training/update.h>

#include <cmath>
#include <limits>
#include <vector>

#include "../support/torch_doctest.h"
#include "small_network.h"

using namespace headrace::training;
using namespace headrace::models;
using doctest::Approx;

namespace {

const Loss cross_entropy_loss = [](const at::Tensor& logits, const at::Tensor& target,
                                   const at::Tensor& present) {
  return cross_entropy(logits, target, {.weights = {.of_samples = present}});
};

struct Data {
  at::Tensor input;
  at::Tensor target;

  Example rows(std::int64_t first, std::int64_t last) const {
    return {.input = input.slice(0, first, last), .target = target.slice(0, first, last)};
  }
};

Data data(std::int64_t rows) {
  at::manual_seed(21);
  return {at::randn({rows, 3, 2, 2}), at::randint(3, {rows}, at::kLong)};
}

// Weights after one step whose micro-batches end at `ends`.
TensorMap after_step(const std::vector<std::int64_t>& ends) {
  const auto network = make_network<PlainModule>(1);
  AdamW optimizer(network->parameters(), {.learning_rate = .1});
  Update update(*network, cross_entropy_loss, optimizer, {.clip_norm = .5});
  const Data rows = data(ends.back());
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    update.accumulate(rows.rows(first, end), ends.size() == 1);
    first = end;
  }
  update.finish();
  return snapshot(*network);
}

double largest_difference(const TensorMap& a, const TensorMap& b) {
  double largest = 0.0;
  for (const auto& [name, tensor] : a)
    largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

}  // namespace

TEST_CASE("micro-batches of a window give the step of one large batch") {
  const TensorMap whole = after_step({12});
  CHECK(largest_difference(whole, after_step({4, 8, 12})) < 1e-6);
  CHECK(largest_difference(whole, after_step({5, 12})) < 1e-6);
  CHECK(largest_difference(whole, after_step({1, 2, 11, 12})) < 1e-6);
  CHECK(largest_difference(whole, after_step({11})) > 1e-6);
}

TEST_CASE("rows that are absent do not move the weights") {
  const auto stepped = [](bool with_absent) {
    const auto network = make_network<PlainModule>(1);
    AdamW optimizer(network->parameters(), {});
    Update update(*network, cross_entropy_loss, optimizer, {});
    Example example = data(6).rows(0, with_absent ? 6 : 4);
    if (with_absent) example.present = at::arange(6) < 4;
    CHECK(update.accumulate(example, true).rows == 4);
    update.finish();
    return snapshot(*network);
  };
  CHECK(largest_difference(stepped(true), stepped(false)) < 1e-6);
}

TEST_CASE("a step with gradients that are not finite is skipped when gradients are clipped") {
  const auto network = make_network<PlainModule>(1);
  AdamW optimizer(network->parameters(), {});
  const Loss poisoned = [](const at::Tensor& logits, const at::Tensor&, const at::Tensor&) {
    return logits.sum() * std::numeric_limits<double>::infinity();
  };
  Update update(*network, poisoned, optimizer, {.clip_norm = 1.0});
  const TensorMap before = snapshot(*network);
  update.accumulate(data(4).rows(0, 4), true);
  CHECK_FALSE(std::isfinite(update.finish().item<double>()));
  CHECK(largest_difference(before, snapshot(*network)) == 0.0);
  for (const auto& [name, tensor] : optimizer.state()) {
    CAPTURE(name);
    CHECK(tensor.abs().max().item<double>() == 0.0);
  }
}

TEST_CASE("bfloat16 training keeps weights and losses in float and leaves nothing switched on") {
  const auto network = make_network<PlainModule>(1);
  AdamW optimizer(network->parameters(), {});
  Update update(*network, cross_entropy_loss, optimizer, {.precision = Precision::bf16});
  const Forward forward = update.accumulate(data(8).rows(0, 8), true);
  CHECK((forward.logits.scalar_type() == at::kBFloat16));
  CHECK((forward.loss.scalar_type() == at::kFloat));
  update.finish();
  for (const NamedTensor& item : network->parameters())
    CHECK((item.tensor.scalar_type() == at::kFloat));
  CHECK((network->forward(data(8).input).scalar_type() == at::kFloat));
}

TEST_CASE("EfficientGlaucomaCNN learns 64 images by heart in under 100 steps") {
  at::manual_seed(31);
  const at::Tensor images = at::rand({64, 3, 16, 16});
  const at::Tensor labels = at::arange(64, at::kLong).remainder(5);
  const auto right_after = [&](const Loss& loss) {
    at::manual_seed(32);
    const auto network = make_efficient_glaucoma_cnn();
    AdamW optimizer(network->parameters(), {.learning_rate = 2e-3});
    Update update(*network, loss, optimizer, {});
    for (int step = 0; step < 60; ++step) {
      update.accumulate({.input = images, .target = labels}, true);
      update.finish();
    }
    network->set_training(false);
    return (network->forward(images).argmax(1) == labels).sum().item<std::int64_t>();
  };
  CHECK(right_after([](auto& z, auto& t, auto&) { return focal_loss(z, t); }) == 64);
}
