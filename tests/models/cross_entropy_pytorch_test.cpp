// Cross entropy is PyTorch's, value and gradient, with weights, smoothing and an ignored class.
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/tests/models/loss_inputs.h>

#include "../support/torch_doctest.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <torch/nn/functional/loss.h>

using namespace headrace::models;
using headrace::test::classes;
using headrace::test::gradient;
using headrace::test::ignored;
using headrace::test::Loss;
using headrace::test::values;
using headrace::test::with_ignored;
namespace F = torch::nn::functional;

namespace {

at::Tensor five_weights() {
  return at::tensor({.5, 1., 2., 3., 0.}, at::kDouble);
}

Loss pytorch(const CrossEntropyOptions& options, bool sum) {
  F::CrossEntropyFuncOptions theirs;
  theirs.label_smoothing(options.label_smoothing);
  if (options.weights.of_classes.defined()) theirs.weight(options.weights.of_classes);
  if (options.weights.ignore) theirs.ignore_index(*options.weights.ignore);
  if (sum) theirs.reduction(torch::kSum);
  return [theirs](auto& z, auto& t) { return F::cross_entropy(z, t, theirs); };
}

Loss ours(const CrossEntropyOptions& options, bool sum) {
  return [=](auto& z, auto& t) {
    const MeanLoss mean = mean_cross_entropy(z, t, options);
    return sum ? mean.value * mean.weight : mean.value;
  };
}

void check_alike(const CrossEntropyOptions& options, bool sum, const at::Tensor& logits,
                 const at::Tensor& target) {
  CAPTURE(options.label_smoothing);
  CAPTURE(options.weights.of_classes.defined());
  CAPTURE(options.weights.ignore.has_value());
  CAPTURE(sum);
  CAPTURE(logits.dim());
  const Loss mine = ours(options, sum);
  const Loss theirs = pytorch(options, sum);
  CHECK(mine(logits, target).item<double>() ==
        doctest::Approx(theirs(logits, target).item<double>()).epsilon(1e-12));
  CHECK((gradient(mine, logits, target) - gradient(theirs, logits, target))
            .abs()
            .max()
            .item<double>() < 1e-12);
}

// With class weights and without.
std::vector<ClassificationWeights> all_weights(std::optional<std::int64_t> ignore) {
  return {{.ignore = ignore}, {.of_classes = five_weights(), .ignore = ignore}};
}

}  // namespace

TEST_CASE("cross entropy of classes is PyTorch's, weighted, smoothed and with one ignored") {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{9, 5}, {2, 5, 4, 3}, {2, 5, 3, 2, 4}}) {
    std::vector<std::int64_t> of_target = shape;
    of_target.erase(of_target.begin() + 1);
    const at::Tensor logits = values(shape, 3);
    const at::Tensor target = classes(of_target, 5, 2);
    for (const double smoothing : {0.0, 0.1, 0.6})
      for (const bool sum : {false, true}) {
        for (const ClassificationWeights& weights : all_weights({}))
          check_alike({.label_smoothing = smoothing, .weights = weights}, sum, logits, target);
        for (const ClassificationWeights& weights : all_weights(ignored))
          check_alike({.label_smoothing = smoothing, .weights = weights}, sum, logits,
                      with_ignored(target));
        for (const ClassificationWeights& weights : all_weights(2))  // one of the classes
          check_alike({.label_smoothing = smoothing, .weights = weights}, sum, logits, target);
      }
  }
}

TEST_CASE("cross entropy of soft labels is PyTorch's: the sum, without class weights the mean") {
  const at::Tensor logits = values({6, 5}, 1);
  const at::Tensor target = values({6, 5}, 2).softmax(1);
  for (const double smoothing : {0.0, 0.1, 0.6})
    for (const ClassificationWeights& weights : all_weights({})) {
      const CrossEntropyOptions options{.label_smoothing = smoothing, .weights = weights};
      check_alike(options, true, logits, target);
      if (!weights.of_classes.defined()) check_alike(options, false, logits, target);
    }
}

TEST_CASE("one-hot labels are those classes, weighted and smoothed") {
  const at::Tensor logits = values({6, 5}, 1);
  const at::Tensor target = classes({6}, 5, 2);
  const at::Tensor one_hot = at::one_hot(target, 5).to(at::kDouble);
  for (const ClassificationWeights& weights : all_weights({})) {
    const CrossEntropyOptions options{.label_smoothing = .1, .weights = weights, .gamma = 2.0};
    const MeanLoss of_classes = mean_cross_entropy(logits, target, options);
    const MeanLoss of_shares = mean_cross_entropy(logits, one_hot, options);
    CHECK(of_shares.value.item<double>() ==
          doctest::Approx(of_classes.value.item<double>()).epsilon(1e-12));
    CHECK(of_shares.weight.item<double>() ==
          doctest::Approx(of_classes.weight.item<double>()).epsilon(1e-12));
  }
}
