#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/tests/models/loss_inputs.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <limits>
#include <vector>

using namespace headrace::models;
using doctest::Approx;
using headrace::test::gradient;
using headrace::test::largest_gradient_error;
using headrace::test::Loss;

namespace {

at::Tensor known_logits() {
  return at::tensor({1., 2., .5, -1., 0.}, at::kDouble).view({1, 5});
}

at::Tensor class_indices(std::initializer_list<std::int64_t> values) {
  return at::tensor(at::ArrayRef<std::int64_t>(values), at::kLong);
}

const std::vector<std::pair<const char*, Loss>>& losses() {
  static const ClassificationWeights weights{
      .of_classes = at::tensor({.5, 1., 2., 1., 3.}, at::kDouble),
      .of_samples = at::tensor({1., 0., 2., .5}, at::kDouble)};
  static const std::vector<std::pair<const char*, Loss>> all{
      {"cross entropy", [](auto& z, auto& t) { return cross_entropy(z, t); }},
      {"smoothed cross entropy",
       [](auto& z, auto& t) { return cross_entropy(z, t, {.label_smoothing = .1}); }},
      {"weighted cross entropy",
       [](auto& z, auto& t) { return cross_entropy(z, t, {.weights = weights}); }},
      {"focal loss", [](auto& z, auto& t) { return focal_loss(z, t); }},
      {"focal loss of gamma .5", [](auto& z, auto& t) { return focal_loss(z, t, {.gamma = .5}); }},
      {"weighted focal loss",
       [](auto& z, auto& t) { return focal_loss(z, t, {.alpha = .25, .weights = weights}); }},
  };
  return all;
}

}  // namespace

TEST_CASE("cross entropy and focal loss give the values computed by hand") {
  const at::Tensor target = class_indices({1});
  CHECK(cross_entropy(known_logits(), target).item<double>() ==
        Approx(.574437939627796).epsilon(1e-12));
  CHECK(cross_entropy(known_logits(), target, {.label_smoothing = .1}).item<double>() ==
        Approx(.724437939627796).epsilon(1e-12));
  CHECK(focal_loss(known_logits(), target).item<double>() ==
        Approx(.109689179533446).epsilon(1e-12));
  CHECK(focal_loss(known_logits(), target, {.gamma = 0.0}).item<double>() ==
        Approx(.574437939627796).epsilon(1e-12));
  CHECK(focal_loss(known_logits(), target, {.alpha = .25}).item<double>() ==
        Approx(.109689179533446 / 4).epsilon(1e-12));
}

TEST_CASE("the gradient of every classification loss agrees with finite differences") {
  at::manual_seed(3);
  const at::Tensor logits = at::randn({4, 5}, at::kDouble) * 2;
  const at::Tensor target = class_indices({0, 3, 4, 1});
  for (const auto& [name, loss] : losses()) {
    CAPTURE(name);
    CHECK(largest_gradient_error(loss, logits, target) < 1e-6);
  }
}

TEST_CASE("a better prediction has a smaller loss") {
  at::manual_seed(4);
  const at::Tensor logits = at::randn({4, 5}, at::kDouble);
  const at::Tensor target = class_indices({2, 3, 0, 1});
  const at::Tensor toward = at::zeros_like(logits).scatter_(1, target.unsqueeze(1), .1);
  for (const auto& [name, loss] : losses()) {
    CAPTURE(name);
    CHECK(loss(logits + toward, target).item<double>() < loss(logits, target).item<double>());
  }
}

TEST_CASE("large wrong logits keep a gradient, and give none behind the clamp") {
  const at::Tensor logits = at::tensor({40., -40., 0., 0., 0.}).view({1, 5});
  const at::Tensor target = class_indices({1});
  const at::Tensor right =
      gradient([](auto& z, auto& t) { return focal_loss(z, t); }, logits, target);
  CHECK(right[0][0].item<double>() == Approx(1.0).epsilon(1e-5));
  CHECK(right[0][1].item<double>() == Approx(-1.0).epsilon(1e-5));

  const at::Tensor outside = at::tensor({40., -40., 3., 2., -5.}).view({1, 5});
  const at::Tensor defect =
      gradient([](auto& z, auto& t) { return clamped_focal_loss(z, t); }, outside, target);
  CHECK(defect.abs().max().item<double>() == 0.0);
}

TEST_CASE("behind the clamp no class of five gets a probability above .4046") {
  const at::Tensor best = at::tensor({-90., 90., -90., -90., -90.}, at::kDouble).view({1, 5});
  const double loss = clamped_focal_loss(best, class_indices({1}), {.gamma = 0.0}).item<double>();
  CHECK(std::exp(-loss) == Approx(.404609675191689).epsilon(1e-6));
  CHECK(focal_loss(best, class_indices({1})).item<double>() < 1e-20);
}

TEST_CASE("class weights give the weighted mean") {
  at::manual_seed(5);
  const at::Tensor logits = at::randn({3, 5}, at::kDouble);
  const at::Tensor weights = at::tensor({.5, 1., 2., 1., 3.}, at::kDouble);
  double sum = 0.0;
  double total = 0.0;
  const std::int64_t target[] = {4, 0, 2};
  for (std::int64_t i = 0; i < 3; ++i) {
    const double w = weights[target[i]].item<double>();
    sum += w * cross_entropy(logits.slice(0, i, i + 1), class_indices({target[i]})).item<double>();
    total += w;
  }
  const CrossEntropyOptions options{.weights = {.of_classes = weights}};
  CHECK(cross_entropy(logits, class_indices({4, 0, 2}), options).item<double>() ==
        Approx(sum / total).epsilon(1e-12));
}

TEST_CASE("rows of weight zero give neither value nor gradient") {
  at::Tensor logits = at::zeros({2, 5}, at::kDouble);
  logits[0][3] = 7.0;
  logits[1][2] = std::numeric_limits<double>::infinity();
  const at::Tensor target = class_indices({3, 0});
  const ClassificationWeights weights{.of_samples = at::tensor({1., 0.}, at::kDouble)};
  const double alone = focal_loss(logits.slice(0, 0, 1), target.slice(0, 0, 1)).item<double>();
  CHECK(focal_loss(at::nan_to_num(logits, {}, 50.), target, {.weights = weights}).item<double>() ==
        Approx(alone));
  const at::Tensor masked =
      gradient([&](auto& z, auto& t) { return focal_loss(z, t, {.weights = weights}); },
               at::nan_to_num(logits, {}, 50.), target);
  CHECK(masked[1].abs().max().item<double>() == 0.0);

  const ClassificationWeights none{.of_samples = at::zeros({2}, at::kDouble)};
  CHECK(focal_loss(at::zeros({2, 5}), target, {.weights = none}).item<double>() == 0.0);
}

TEST_CASE("a row of weight zero may have a target that is no class") {
  at::manual_seed(7);
  const at::Tensor logits = at::randn({3, 5}, at::kDouble);
  const ClassificationWeights weights{.of_classes = at::tensor({.5, 1., 2., 1., 3.}, at::kDouble),
                                      .of_samples = at::tensor({1., 0., 1.}, at::kDouble)};
  for (const std::int64_t none : {std::int64_t{-1}, std::int64_t{5}}) {
    const at::Tensor target = class_indices({4, none, 2});
    CHECK(cross_entropy(logits, target, {.weights = weights}).item<double>() ==
          cross_entropy(logits, class_indices({4, 1, 2}), {.weights = weights}).item<double>());
    CHECK(focal_loss(logits, target, {.weights = weights}).item<double>() ==
          focal_loss(logits, class_indices({4, 1, 2}), {.weights = weights}).item<double>());
  }
}

TEST_CASE("losses of half precision logits are computed in float") {
  const at::Tensor logits = known_logits().to(at::kBFloat16);
  const at::Tensor loss = focal_loss(logits, class_indices({1}));
  CHECK((loss.scalar_type() == at::kFloat));
  CHECK(loss.item<double>() == Approx(.109689179533446).epsilon(1e-5));
}

TEST_CASE("the sum of weights is what the mean divides by, of classes and of soft labels") {
  const ClassificationWeights weights{.of_classes = at::tensor({.5, 1., 2.}, at::kDouble),
                                      .of_samples = at::tensor({1., 0., 3.}, at::kDouble)};
  const at::TensorOptions options(at::kDouble);
  CHECK(sum_of_weights(class_indices({0, 2, 2}), weights, options).item<double>() == 6.5);
  CHECK(sum_of_weights(class_indices({0, 2, 2}), {}, options).item<double>() == 3.0);
  const at::Tensor soft =
      at::tensor({1., 0., 0., .2, .4, .4, 0., .5, .5}, at::kDouble).view({3, 3});
  CHECK(sum_of_weights(soft, weights, options).item<double>() == Approx(.5 + 3 * 1.5));
  CHECK(sum_of_weights(soft, {}, options).item<double>() == Approx(3.0));
  const at::Tensor logits = at::randn({3, 3}, at::kDouble);
  const at::Tensor sum = (-logits.log_softmax(1) * soft * weights.of_classes.unsqueeze(0)).sum(1);
  CHECK((cross_entropy(logits, soft, {.weights = weights}) * sum_of_weights(soft, weights, options))
            .item<double>() == Approx((sum * weights.of_samples).sum().item<double>()));
}

TEST_CASE("logits and targets of shapes that do not fit are refused") {
  const auto refused = [](at::IntArrayRef logits, const at::Tensor& target) {
    CHECK_THROWS_AS(cross_entropy(at::zeros(logits), target), headrace::ConfigError);
    CHECK_THROWS_AS(focal_loss(at::zeros(logits), target), headrace::ConfigError);
  };
  refused({2, 3, 4}, at::zeros({2, 5}, at::kLong));
  refused({3}, class_indices({0}));
  refused({2, 3}, class_indices({0}));
  refused({2, 3}, at::zeros({2, 1}, at::kLong));
  refused({2, 3}, at::zeros({2, 3, 1}, at::kLong));
}

TEST_CASE("options outside their range are refused with their value") {
  CHECK_THROWS_WITH_AS(cross_entropy(known_logits(), class_indices({1}), {.label_smoothing = 1.0}),
                       "[cross_entropy] label_smoothing must lie in [0, 1), got 1.000000",
                       headrace::ConfigError);
  CHECK_THROWS_AS(focal_loss(known_logits(), class_indices({1}), {.gamma = -1.0}),
                  headrace::ConfigError);
}
