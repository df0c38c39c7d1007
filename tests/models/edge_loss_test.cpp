#include <headrace/engine/base/error.h>
#include <headrace/models/losses/mask_losses.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/segmentation_maps.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <functional>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

using Plane = std::function<double(std::int64_t y, std::int64_t x)>;

double magnitude(const Plane& plane, std::int64_t y, std::int64_t x) {
  double across = 0;
  double down = 0;
  for (const std::int64_t k : {-1, 0, 1}) {
    const double weight = k == 0 ? 2 : 1;
    across += weight * (plane(y + k, x + 1) - plane(y + k, x - 1));
    down += weight * (plane(y + 1, x + k) - plane(y - 1, x + k));
  }
  return std::sqrt(across * across + down * down + 1e-6);
}

// Over those 3 x 3 pixels without one that is ignored.
double edge_loss_by_loops(const at::Tensor& logits, const at::Tensor& target) {
  const auto z = logits.accessor<double, 2>();
  const auto t = target.accessor<double, 2>();
  const std::int64_t height = z.size(0);
  const std::int64_t width = z.size(1);
  const auto held = [&](const auto& value) -> Plane {
    return [=](std::int64_t y, std::int64_t x) {
      return value(std::clamp<std::int64_t>(y, 0, height - 1),
                   std::clamp<std::int64_t>(x, 0, width - 1));
    };
  };
  const Plane p = held([&](auto y, auto x) { return 1 / (1 + std::exp(-z[y][x])); });
  const Plane truth = held([&](auto y, auto x) { return t[y][x]; });
  double sum = 0;
  int count = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      bool known = true;
      for (std::int64_t k = 0; k < 9; ++k)
        known = known && truth(y + k / 3 - 1, x + k % 3 - 1) != ignored;
      if (!known) continue;
      sum += std::pow(magnitude(p, y, x) - magnitude(truth, y, x), 2);
      ++count;
    }
  }
  return sum / count;
}

}  // namespace

TEST_CASE("the edge loss is the mean squared difference of Sobel magnitudes, border included") {
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    const at::Tensor z = map_logits(i);
    const MeanLoss loss = edge_loss(z, map_truth());
    CHECK(loss.value.item<double>() ==
          Approx(edge_loss_by_loops(z[0][0], map_truth()[0][0])).epsilon(1e-12));
    CHECK(loss.weight.item<double>() == 80);
    CHECK(edge_loss(z, map_truth().squeeze(1).to(at::kByte)).value.item<double>() ==
          Approx(loss.value.item<double>()).epsilon(1e-12));
  }
}

TEST_CASE("pixels beside an ignored one count nowhere in the edge loss") {
  at::Tensor target = map_truth().clone();
  target[0][0][0][0] = ignored;
  target[0][0][4][6] = ignored;
  const at::Tensor z = map_logits(1);
  const MeanLoss loss = edge_loss(z, target, {.ignore = ignored});
  CHECK(loss.weight.item<double>() == 80 - 4 - 9);
  CHECK(loss.value.item<double>() ==
        Approx(edge_loss_by_loops(z[0][0], target[0][0])).epsilon(1e-12));
  at::Tensor other = z.clone();
  other[0][0][0][0] = std::nan("");
  other[0][0][4][6] = 1e300;
  const Loss ignoring = [](auto& logits, auto& t) {
    return edge_loss(logits, t, {.ignore = ignored}).value;
  };
  CHECK(ignoring(other, target).item<double>() == loss.value.item<double>());
  CHECK(at::equal(gradient(ignoring, other, target), gradient(ignoring, z, target)));
  CHECK(gradient(ignoring, z, target)[0][0][4][6].item<double>() == 0.0);
  const at::Tensor nothing = at::full_like(target, ignored);
  CHECK(ignoring(z, nothing).item<double>() == 0.0);
  CHECK(gradient(ignoring, z, nothing).abs().max().item<double>() == 0.0);
}

TEST_CASE("rows weigh in the edge loss by their samples") {
  const at::Tensor z = at::cat({map_logits(0), map_logits(1), map_logits(2)});
  const at::Tensor target = map_truth().expand({3, 1, 8, 10});
  const auto of = [&](std::size_t i) {
    return edge_loss(map_logits(i), map_truth()).value.item<double>();
  };
  const MeanLoss loss = edge_loss(z, target, {.of_samples = at::tensor({1., 0., .5})});
  CHECK(loss.value.item<double>() == Approx((of(0) + .5 * of(2)) / 1.5).epsilon(1e-12));
  CHECK(loss.weight.item<double>() == 120);
}

TEST_CASE("flat masks have a finite gradient, and a mask and its opposite the same edges") {
  const Loss plain = [](auto& z, auto& t) { return edge_loss(z, t).value; };
  const at::Tensor flat = at::full({1, 1, 8, 10}, 2.0, at::kDouble);
  for (const at::Tensor& target : {map_truth(), at::zeros_like(map_truth())})
    CHECK(at::isfinite(gradient(plain, flat, target)).all().item<bool>());
  CHECK(plain(flat, at::ones_like(flat)).item<double>() == 0.0);
  const at::Tensor right = (map_truth() * 2 - 1) * 40;
  CHECK(plain(right, map_truth()).item<double>() < 1e-12);
  CHECK(plain(-right, map_truth()).item<double>() < 1e-12);
}

TEST_CASE("the edge loss is computed without a look at its values") {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(at::kMeta);
  const EdgeLossOptions picky{.ignore = ignored, .of_samples = at::empty({2}, options)};
  const Loss loss = [&](auto& z, auto& t) { return edge_loss(z, t, picky).value; };
  const at::Tensor given =
      gradient(loss, at::empty({2, 1, 8, 10}, options), at::empty({2, 8, 10}, options));
  CHECK((given.sizes() == at::IntArrayRef{2, 1, 8, 10}));
}

TEST_CASE("the edge loss refuses what are no masks of pictures") {
  CHECK_THROWS_WITH_AS(edge_loss(at::zeros({2, 3}), at::zeros({2, 3})),
                       "[edge_loss] logits must be [N, masks, height, width], got [2, 3]",
                       headrace::ConfigError);
  CHECK_THROWS_AS(edge_loss(at::zeros({2, 2, 4, 4}), at::zeros({2, 4, 4})), headrace::ConfigError);
}
