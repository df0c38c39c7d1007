#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/networks/efficient_glaucoma_cnn.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/update.h>

#include "../support/torch_doctest.h"
#include "function_course.h"
#include "small_network.h"
#include "tensor_difference.h"

#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

using namespace headrace::training;
using namespace headrace::models;
using doctest::Approx;

namespace {

const headrace::test::LossFunction cross_entropy_loss =
    [](const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present) {
      return cross_entropy(logits, target, {.weights = {.of_samples = present}});
    };

struct ImageRows {
  at::Tensor input;
  at::Tensor target;

  Example rows(std::int64_t first, std::int64_t last) const {
    return headrace::test::example_of(input.slice(0, first, last), target.slice(0, first, last));
  }
};

// Steps of a network with a loss of its own.
struct UpdateSteps {
  explicit UpdateSteps(Network& network, headrace::test::LossFunction loss,
                       OptimizerOptions adamw = {}, UpdateOptions options = {})
      : course({.loss = std::move(loss)}),
        optimizer(network.parameters(), adamw),
        update(course, network, optimizer, options) {}

  Forward accumulate(const Example& example, bool alone = true) {
    headrace::Random random;
    return update.accumulate(example, headrace::test::moment_of(stage, random), alone);
  }

  Stage stage;
  headrace::test::FunctionCourse course;
  Optimizer optimizer;
  Update update;
};

ImageRows data(std::int64_t rows) {
  at::manual_seed(21);
  return {at::randn({rows, 3, 2, 2}), at::randint(3, {rows}, at::kLong)};
}

// Weights after one step whose micro-batches end at `ends`.
TensorMap after_step(const std::vector<std::int64_t>& ends) {
  const auto network = make_network<PlainModule>(1);
  UpdateSteps steps(*network, cross_entropy_loss, {.learning_rate = .1}, {.clip_norm = .5});
  const ImageRows rows = data(ends.back());
  std::int64_t first = 0;
  for (const std::int64_t end : ends) {
    steps.accumulate(rows.rows(first, end), ends.size() == 1);
    first = end;
  }
  steps.update.finish();
  return snapshot(*network);
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
    UpdateSteps steps(*network, cross_entropy_loss);
    Example example = data(6).rows(0, with_absent ? 6 : 4);
    if (with_absent) example.present = at::arange(6) < 4;
    CHECK(steps.accumulate(example).rows == 4);
    steps.update.finish();
    return snapshot(*network);
  };
  CHECK(largest_difference(stepped(true), stepped(false)) < 1e-6);
}

TEST_CASE("a step with gradients that are not finite changes nothing, clipped or not") {
  for (const double clip : {0.0, 1.0}) {
    CAPTURE(clip);
    const auto network = make_network<PlainModule>(1);
    // Finite itself, with an infinite gradient.
    const auto poisoned = [](const at::Tensor& logits, const at::Tensor&, const at::Tensor&) {
      return (logits.sum() * 0.0).sqrt();
    };
    UpdateSteps steps(*network, poisoned, {}, {.clip_norm = clip});
    const TensorMap before = snapshot(*network);
    CHECK(steps.accumulate(data(4).rows(0, 4)).loss.item<float>() == 0.0F);
    const StepOutcome outcome = steps.update.finish();
    CHECK_FALSE(std::isfinite(outcome.norm.item<double>()));
    CHECK(outcome.skipped.item<float>() == 1.0F);
    CHECK(largest_difference(before, snapshot(*network)) == 0.0);
    for (const auto& [name, tensor] : steps.optimizer.state()) {
      CAPTURE(name);
      CHECK(tensor.abs().max().item<double>() == 0.0);
    }
  }
}

TEST_CASE("micro-batches weigh in a step as their examples say") {
  // Voxels that are present differ: a mean over each half must not count as much as the other.
  const at::Tensor input = at::randn({6, 3, 2, 2});
  const at::Tensor voxels = at::tensor({1.0F, 0.0F, 0.0F, 1.0F, 1.0F, 1.0F});
  const auto stepped = [&](const std::vector<std::int64_t>& ends, bool weighed) {
    const auto network = make_network<PlainModule>(1);
    UpdateSteps steps(*network,
                      [](const at::Tensor& logits, const at::Tensor& counted, const at::Tensor&) {
                        return (logits.select(1, 0) * counted).sum() / counted.sum();
                      });
    std::int64_t first = 0;
    for (const std::int64_t end : ends) {
      Example part =
          headrace::test::example_of(input.slice(0, first, end), voxels.slice(0, first, end));
      if (weighed) part.weight = voxels.slice(0, first, end).sum();
      steps.accumulate(part, ends.size() == 1);
      first = end;
    }
    steps.update.finish();
    return snapshot(*network);
  };
  // The second linear layer's bias moves by the sign alone: compare what AdamW saw.
  const TensorMap whole = stepped({6}, true);
  CHECK(largest_difference(whole, stepped({3, 6}, true)) < 1e-6);
  CHECK(largest_difference(whole, stepped({3, 6}, false)) > 1e-6);
}

TEST_CASE("a step that weighs nothing moves nothing, and half a weight is refused") {
  const auto network = make_network<PlainModule>(1);
  const TensorMap before = snapshot(*network);
  UpdateSteps steps(*network, cross_entropy_loss, {.weight_decay = 0.0});
  const auto part = [](std::optional<float> weight) {
    Example rows = data(4).rows(0, 4);
    if (weight) rows.weight = at::scalar_tensor(*weight);
    return rows;
  };
  steps.accumulate(part(0.0F), false);
  steps.accumulate(part(0.0F), false);
  CHECK(steps.update.finish().skipped.item<float>() == 0.0F);
  CHECK(largest_difference(before, snapshot(*network)) == 0.0);
  steps.accumulate(part(0.0F));  // the only one of its step
  steps.update.finish();
  CHECK(largest_difference(before, snapshot(*network)) == 0.0);
  steps.accumulate(part(1.0F), false);
  CHECK_THROWS_AS(steps.accumulate(part({}), false), headrace::ConfigError);
  UpdateSteps others(*network, cross_entropy_loss);
  others.accumulate(part({}), false);
  CHECK_THROWS_AS(others.accumulate(part(1.0F), false), headrace::ConfigError);
}

TEST_CASE("bfloat16 training keeps weights and losses in float and leaves nothing switched on") {
  const auto network = make_network<PlainModule>(1);
  UpdateSteps steps(*network, cross_entropy_loss, {}, {.precision = Precision::bf16});
  const Forward forward = steps.accumulate(data(8).rows(0, 8));
  CHECK((forward.output.main.scalar_type() == at::kBFloat16));
  CHECK((forward.loss.scalar_type() == at::kFloat));
  steps.update.finish();
  for (const NamedTensor& item : network->parameters())
    CHECK((item.tensor.scalar_type() == at::kFloat));
  CHECK((network->forward(data(8).input).scalar_type() == at::kFloat));
}

TEST_CASE("EfficientGlaucomaCNN learns 64 images by heart in under 100 steps") {
  at::manual_seed(31);
  const at::Tensor images = at::rand({64, 3, 16, 16});
  const at::Tensor labels = at::arange(64, at::kLong).remainder(5);
  const auto right_after = [&](const headrace::test::LossFunction& loss) {
    at::manual_seed(32);
    const auto network = make_efficient_glaucoma_cnn();
    UpdateSteps steps(*network, loss, {.learning_rate = 2e-3});
    for (int step = 0; step < 60; ++step) {
      steps.accumulate(headrace::test::example_of(images, labels));
      steps.update.finish();
    }
    network->set_training(false);
    return (network->forward(images).argmax(1) == labels).sum().item<std::int64_t>();
  };
  CHECK(right_after([](auto& z, auto& t, auto&) { return focal_loss(z, t); }) == 64);
}
