#include <headrace/engine/base/error.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/segmentation_maps.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <cmath>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

double value(const at::Tensor& logits, const at::Tensor& target,
             const StructureLossOptions& options = {}) {
  return structure_loss(logits, target, options).value.item<double>();
}

// Of one mask larger than the window, without what is ignored.
double structure_loss_by_loops(const at::Tensor& logits, const at::Tensor& target) {
  const auto z = logits.accessor<double, 2>();
  const auto t = target.accessor<double, 2>();
  const auto truth = [&](std::int64_t y, std::int64_t x) {
    const bool inside = y >= 0 && x >= 0 && y < t.size(0) && x < t.size(1);
    return inside && t[y][x] != ignored ? t[y][x] : 0.0;
  };
  double weights = 0;
  double entropy = 0;
  double both = 0;
  double all = 0;
  for (std::int64_t y = 0; y < t.size(0); ++y) {
    for (std::int64_t x = 0; x < t.size(1); ++x) {
      if (t[y][x] == ignored) continue;
      double around = 0;
      for (std::int64_t k = 0; k < 31 * 31; ++k)
        around += truth(y + k / 31 - 15, x + k % 31 - 15) / 961;
      const double weight = 1 + 5 * std::abs(around - t[y][x]);
      const double p = 1 / (1 + std::exp(-z[y][x]));
      weights += weight;
      entropy -= weight * std::log(t[y][x] == 1 ? p : 1 - p);
      both += weight * p * t[y][x];
      all += weight * (p + t[y][x]);
    }
  }
  return entropy / weights + 1 - (both + 1) / (all - both + 1);
}

at::Tensor disc() {
  const at::Tensor y = at::arange(37, at::kDouble).unsqueeze(1);
  const at::Tensor x = at::arange(41, at::kDouble);
  return ((x - 25).square() + (y - 14).square() <= 90).to(at::kDouble).view({1, 1, 37, 41});
}

}  // namespace

TEST_CASE("structure losses of known maps have the values that were computed by hand") {
  const double entropy[] = {.863738977783182, .350133119431161, .294682286515936};
  const double iou[] = {.600876115317785, .375640931439636, .330387299127218};
  const double structure[] = {1.464615093100966, .725774050870797, .625069585643155};
  const double legacy[] = {1.475066450940219, .728108977298246, .660598731416749};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const at::Tensor z = map_logits(i);
    CHECK(value(z, map_truth()) == Approx(structure[i]).epsilon(1e-9));
    const double published = value(z, map_truth(), {.legacy = true});
    CHECK(published == Approx(legacy[i]).epsilon(1e-9));
    const double plain = mean_binary_cross_entropy(z, map_truth()).value.item<double>();
    CHECK(published - plain == Approx(iou[i]).epsilon(1e-9));
    CHECK(value(z, map_truth()) - (published - plain) == Approx(entropy[i]).epsilon(1e-9));
  }
}

TEST_CASE("weights follow the window where the mask is larger, and ignored pixels count as none") {
  const at::Tensor z = values({1, 1, 37, 41}, 3);
  CHECK(value(z, disc()) == Approx(structure_loss_by_loops(z[0][0], disc()[0][0])).epsilon(1e-10));
  at::Tensor target = disc();
  target.slice(2, 10, 15).slice(3, 20, 30).fill_(ignored);
  const double picky = value(z, target, {.ignore = ignored});
  CHECK(picky == Approx(structure_loss_by_loops(z[0][0], target[0][0])).epsilon(1e-10));
  at::Tensor other = z.clone();
  other.slice(2, 10, 15).slice(3, 20, 30).fill_(std::nan(""));
  CHECK(value(other, target, {.ignore = ignored}) == picky);
  CHECK(value(z, at::full_like(target, ignored), {.ignore = ignored}) == 0.0);
}

TEST_CASE("the structure loss is the mean over masks and rows, by the weights of rows") {
  const at::Tensor z = at::cat({map_logits(0), map_logits(1), map_logits(2)});
  const at::Tensor target = map_truth().expand({3, 1, 8, 10});
  const auto of = [&](std::size_t i) { return value(map_logits(i), map_truth()); };
  const MeanLoss loss = structure_loss(z, target);
  CHECK(loss.value.item<double>() == Approx((of(0) + of(1) + of(2)) / 3).epsilon(1e-12));
  CHECK(loss.weight.item<double>() == 3);
  CHECK(value(z, target, {.of_samples = at::tensor({1., 0., .5})}) ==
        Approx((of(0) + .5 * of(2)) / 1.5).epsilon(1e-12));
  CHECK(value(z.view({1, 3, 8, 10}), target.reshape({1, 3, 8, 10})) ==
        Approx((of(0) + of(1) + of(2)) / 3).epsilon(1e-12));
  CHECK(value(z, target.squeeze(1).to(at::kByte)) ==
        Approx(loss.value.item<double>()).epsilon(1e-12));
}

TEST_CASE("the structure loss is computed without a look at its values") {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(at::kMeta);
  const StructureLossOptions picky{.ignore = ignored, .of_samples = at::empty({2}, options)};
  const Loss loss = [&](auto& z, auto& t) { return structure_loss(z, t, picky).value; };
  const at::Tensor given =
      gradient(loss, at::empty({2, 1, 8, 10}, options), at::empty({2, 8, 10}, options));
  CHECK((given.sizes() == at::IntArrayRef{2, 1, 8, 10}));
}

TEST_CASE("the structure loss refuses what are no masks of pictures") {
  CHECK_THROWS_WITH_AS(structure_loss(at::zeros({2, 3}), at::zeros({2, 3})),
                       "[structure_loss] logits must be [N, masks, height, width], got [2, 3]",
                       headrace::ConfigError);
  CHECK_THROWS_AS(structure_loss(at::zeros({2, 2, 4, 4}), at::zeros({2, 4, 4})),
                  headrace::ConfigError);
}
