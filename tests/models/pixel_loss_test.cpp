// Cross entropies of pixels and of labels that exclude nothing, beside PyTorch's and MONAI's:
// reference/make_loss_values.py.
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/reference/loss_values.h>
#include <headrace/tests/models/segmentation_maps.h>

#include "../support/torch_doctest.h"

#include <utility>
#include <vector>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

at::Tensor class_weights() {
  return at::tensor({.5, 1., 2., 3.}, at::kDouble);
}

at::Tensor plane() {
  return values({2, 4, 5, 6}, 1);
}

at::Tensor plane_classes() {
  return with_ignored(classes({2, 5, 6}, 4, 2));
}

double of_plane(const CrossEntropyOptions& options) {
  return cross_entropy(plane(), plane_classes(), options).item<double>();
}

const std::vector<std::pair<const char*, Loss>>& losses_of_masks() {
  static const at::Tensor rows = at::tensor({1., 0., .5}, at::kDouble);
  static const at::Tensor positive = at::tensor({2., .5}, at::kDouble);
  static const std::vector<std::pair<const char*, Loss>> all{
      {"plain", [](auto& z, auto& t) { return mean_binary_cross_entropy(z, t).value; }},
      {"focal",
       [](auto& z, auto& t) { return mean_binary_cross_entropy(z, t, {.gamma = 2.0}).value; }},
      {"focal of gamma .5",
       [](auto& z, auto& t) { return mean_binary_cross_entropy(z, t, {.gamma = .5}).value; }},
      {"weighted",
       [](auto& z, auto& t) {
         return mean_binary_cross_entropy(
                    z, t,
                    {.positive_weights = positive, .of_samples = rows, .gamma = 1.0, .ignore = 255})
             .value;
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("cross entropy over pixels is PyTorch's") {
  const ClassificationWeights ignoring{.ignore = ignored};
  CHECK(of_plane({.weights = ignoring}) == Approx(reference::ce_plane).epsilon(1e-12));
  CHECK(of_plane({.label_smoothing = .1, .weights = ignoring}) ==
        Approx(reference::ce_plane_smoothed).epsilon(1e-12));
  CHECK(of_plane({.weights = {.of_classes = class_weights(), .ignore = ignored}}) ==
        Approx(reference::ce_plane_weighted).epsilon(1e-12));
  const at::Tensor volume = values({2, 3, 4, 3, 5}, 3);
  const at::Tensor target = classes({2, 4, 3, 5}, 3, 4);
  CHECK(cross_entropy(volume, target).item<double>() ==
        Approx(reference::ce_volume).epsilon(1e-12));
  CHECK(cross_entropy(volume, target.to(at::kByte), {.gamma = 2.0}).item<double>() ==
        Approx(reference::focal_volume).epsilon(1e-6));  // MONAI's in float
}

TEST_CASE("a loss over pixels is that over the same pixels as rows") {
  const at::Tensor target = plane_classes();
  const at::Tensor rows = plane().permute({0, 2, 3, 1}).reshape({-1, 4});
  for (const double gamma : {0.0, 2.0}) {
    CrossEntropyOptions options{.label_smoothing = .2,
                                .weights = {.of_classes = class_weights(), .ignore = ignored},
                                .gamma = gamma};
    const MeanLoss pixels = mean_cross_entropy(plane(), target, options);
    const MeanLoss flat = mean_cross_entropy(rows, target.flatten(), options);
    CHECK(pixels.value.item<double>() == Approx(flat.value.item<double>()).epsilon(1e-12));
    CHECK(pixels.weight.item<double>() == Approx(flat.weight.item<double>()).epsilon(1e-12));
    CHECK(sum_of_weights(target, options.weights, at::TensorOptions(at::kDouble)).item<double>() ==
          Approx(flat.weight.item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("the gradient of cross entropy over pixels agrees with finite differences") {
  const CrossEntropyOptions options{.label_smoothing = .1,
                                    .weights = {.of_classes = class_weights(),
                                                .of_samples = at::tensor({1., .25}, at::kDouble),
                                                .ignore = ignored},
                                    .gamma = 1.5};
  const Loss loss = [&](auto& z, auto& t) { return cross_entropy(z, t, options); };
  CHECK(largest_gradient_error(loss, plane(), plane_classes()) < 1e-6);
  const at::Tensor given = gradient(loss, plane(), plane_classes());
  const at::Tensor outside = (plane_classes() == ignored).unsqueeze(1).expand_as(given);
  CHECK(given.masked_select(outside).abs().max().item<double>() == 0.0);
  CHECK(given.abs().max().item<double>() > 0.0);
}

TEST_CASE("means over pixels do not depend on how rows are divided into batches") {
  const CrossEntropyOptions options{.weights = {.of_classes = class_weights(), .ignore = ignored},
                                    .gamma = 1.0};
  const auto of = [&](std::int64_t from, std::int64_t to) {
    return mean_cross_entropy(plane().slice(0, from, to), plane_classes().slice(0, from, to),
                              options);
  };
  const auto sum = [](const MeanLoss& loss) { return (loss.value * loss.weight).item<double>(); };
  const MeanLoss whole = of(0, 2);
  const MeanLoss first = of(0, 1);
  const MeanLoss second = of(1, 2);
  CHECK(sum(first) + sum(second) == Approx(sum(whole)).epsilon(1e-12));
  CHECK((first.weight + second.weight).item<double>() ==
        Approx(whole.weight.item<double>()).epsilon(1e-12));
}

TEST_CASE("binary cross entropy of labels and masks is PyTorch's, and focal MONAI's") {
  const at::Tensor target = classes({6, 5}, 2, 6);
  const at::Tensor positive = at::tensor({1., 2., .5, 4., 1.5}, at::kDouble);
  const at::Tensor logits = values({6, 5}, 5);
  CHECK(mean_binary_cross_entropy(logits, target, {.positive_weights = positive})
            .value.item<double>() == Approx(reference::bce_labels).epsilon(1e-12));
  CHECK(mean_binary_cross_entropy(logits, target, {.gamma = 2.0}).value.item<double>() ==
        Approx(reference::bce_focal).epsilon(1e-6));  // MONAI's in float
  const at::Tensor mask = with_ignored(classes({2, 1, 5, 6}, 2, 8));
  for (const at::Tensor& given : {mask, mask.squeeze(1), mask.to(at::kByte)}) {
    const MeanLoss loss =
        mean_binary_cross_entropy(values({2, 1, 5, 6}, 7), given, {.ignore = 255});
    CHECK(loss.value.item<double>() == Approx(reference::bce_mask_ignored).epsilon(1e-12));
    CHECK(loss.weight.item<double>() == 60 - 5);
  }
}

TEST_CASE("binary losses of known maps have the values that were computed by hand") {
  const double plain[] = {.874190335622434, .352468045858610, .330211432289530};
  const double positive[] = {1.277942679355792, .516930916100173, .454612398106750};
  const double focal[] = {.449751020448913, .047577711765053, .039471631032776};
  const BinaryCrossEntropyOptions weighted{.positive_weights = at::tensor({2.8}, at::kDouble)};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const at::Tensor z = map_logits(i);
    CHECK(mean_binary_cross_entropy(z, map_truth()).value.item<double>() ==
          Approx(plain[i]).epsilon(1e-9));
    CHECK(mean_binary_cross_entropy(z, map_truth(), weighted).value.item<double>() ==
          Approx(positive[i]).epsilon(1e-9));
    CHECK(mean_binary_cross_entropy(z, map_truth(), {.gamma = 2.0}).value.item<double>() ==
          Approx(focal[i]).epsilon(1e-9));
  }
}

TEST_CASE("binary losses have the gradient of finite differences, and fall towards the target") {
  const at::Tensor logits = values({3, 2, 3, 4}, 30);
  const at::Tensor target = classes({3, 2, 3, 4}, 2, 31).to(at::kDouble);
  const at::Tensor toward = logits + (target * 2 - 1) * .1;
  for (const auto& [name, loss] : losses_of_masks()) {
    CAPTURE(name);
    CHECK(largest_gradient_error(loss, logits, target) < 1e-6);
    CHECK(loss(toward, target).item<double>() < loss(logits, target).item<double>());
  }
}

TEST_CASE("pixels to be ignored and absent rows have no gradient, whatever is there") {
  const at::Tensor target = with_ignored(classes({3, 2, 3, 4}, 2, 31)).to(at::kDouble);
  target[1].fill_(-7);
  const Loss& loss = losses_of_masks().back().second;
  const at::Tensor given = gradient(loss, values({3, 2, 3, 4}, 30) * 100, target);
  CHECK(given[1].abs().max().item<double>() == 0.0);
  CHECK(given.masked_select(target == 255).abs().max().item<double>() == 0.0);
  CHECK(given.isfinite().all().item<bool>());
  const BinaryCrossEntropyOptions none{.of_samples = at::zeros({3})};
  CHECK(mean_binary_cross_entropy(values({3, 2}, 1), at::ones({3, 2}), none).value.item<double>() ==
        0.0);
}

TEST_CASE("losses over pixels of half precision are computed in float") {
  const at::Tensor z = plane().to(at::kBFloat16);
  const ClassificationWeights ignoring{.ignore = ignored};
  const at::Tensor loss = cross_entropy(z, plane_classes(), {.weights = ignoring});
  CHECK((loss.scalar_type() == at::kFloat));
  CHECK(loss.item<double>() ==
        Approx(
            cross_entropy(z.to(at::kDouble), plane_classes(), {.weights = ignoring}).item<double>())
            .epsilon(1e-6));
  CHECK((mean_binary_cross_entropy(z, at::ones({2, 4, 5, 6})).value.scalar_type() == at::kFloat));
}

TEST_CASE("targets and weights that do not fit are refused by their shapes") {
  CHECK_THROWS_WITH_AS(mean_binary_cross_entropy(at::zeros({2, 3}), at::zeros({2, 4})),
                       "[binary_cross_entropy] targets must have the shape of the logits, [2, 3] "
                       "with a value for each channel, got [2, 4]",
                       headrace::ConfigError);
  CHECK_THROWS_AS(mean_binary_cross_entropy(at::zeros({2, 3, 4}), at::zeros({2, 4})),
                  headrace::ConfigError);
  CHECK_THROWS_AS(mean_binary_cross_entropy(at::zeros({2, 3}), at::zeros({2, 3}),
                                            {.positive_weights = at::ones({2})}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(mean_binary_cross_entropy(at::zeros({2, 3}), at::zeros({2, 3}), {.gamma = -1.0}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(cross_entropy(at::zeros({2, 3, 4, 4}), at::zeros({2, 1, 4, 4}, at::kLong)),
                  headrace::ConfigError);
  CHECK_THROWS_AS(cross_entropy(at::zeros({2, 3, 4, 4}), at::zeros({2, 3, 4, 4})),
                  headrace::ConfigError);
}
