#include <headrace/engine/base/error.h>
#include <headrace/models/losses/surface_distance_loss.h>
#include <headrace/tests/models/loss_harness.h>
#include <headrace/tests/models/sheet_volume.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

// Over all pairs of voxels of `[D, H, W]`.
at::Tensor by_pairs(const at::Tensor& mask, double limit) {
  const at::Tensor there = mask.nonzero().to(at::kDouble);
  at::Tensor found = at::full(mask.sizes(), limit, at::kDouble);
  if (there.size(0) == 0) return found;
  const at::Tensor all = at::ones_like(mask).nonzero().to(at::kDouble);
  const at::Tensor squares = (all.unsqueeze(1) - there.unsqueeze(0)).square().sum(2);
  return squares.amin(1).sqrt().view(mask.sizes()).clamp_max(limit);
}

double surface(const at::Tensor& z, const at::Tensor& t, const SurfaceDistances& distances = {}) {
  return surface_distance_loss(z, t, {.distances = distances}).value.item<double>();
}

// The original job's first term: it pays for being sure of nothing, far from the target.
at::Tensor inverted(const at::Tensor& z, const at::Tensor& t) {
  return (truncated_distance(t == 1, 2.0, at::kDouble) / 2.0 * (1.0 - at::sigmoid(z))).mean();
}

std::string faults_as(const std::string& options, const Loss& loss) {
  std::string text;
  for (const RegisteredLoss& registered : registered_losses()) {
    if (registered.function != "surface_distance_loss" || registered.options != options) continue;
    RegisteredLoss twin = registered;
    twin.make = [make = registered.make, loss](std::int64_t times) {
      LossCase one = make(times);
      one.loss = loss;
      return one;
    };
    for (const std::string& fault : faults_of(twin))
      text += fault + '\n';
  }
  return text;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE(
    "the truncated distance of a known volume has the counts that were computed independently") {
  const at::Tensor d = truncated_distance(volume_truth(), 2.0, at::kDouble);
  const auto count =
      [&](double squared) {  // LibTorch's roots differ in the last place by processor
        return ((d - std::sqrt(squared)).abs() < 1e-12).sum().item<std::int64_t>();
      };
  CHECK(count(0) == 36);
  CHECK(count(1) == 66);
  CHECK(count(2) == 40);
  CHECK(count(3) == 8);
  CHECK(count(4) == 24 + 28 + 8);
  CHECK(d.sum().item<double>() == Approx(256.424948955475).epsilon(1e-12));
}

TEST_CASE("the truncated distance is the least over all voxels of the mask") {
  for (const std::int64_t sides : {2, 7, 60}) {
    CAPTURE(sides);
    const at::Tensor mask = classes({2, 1, 6, 7, 9}, sides, 3) == 0;
    for (const double limit : {.5, 1.0, 1.5, 2.0}) {
      const at::Tensor d = truncated_distance(mask, limit, at::kDouble);
      for (const std::int64_t row : {0, 1})
        CHECK(at::equal(d[row][0], by_pairs(mask[row][0], limit)));
    }
  }
  const at::Tensor flat = classes({1, 2, 7, 9}, 11, 3) == 0;
  const at::Tensor d = truncated_distance(flat, 2.0, at::kDouble);
  for (const std::int64_t channel : {0, 1})
    CHECK(at::equal(d[0][channel], by_pairs(flat[0][channel].unsqueeze(0), 2.0)[0]));
  CHECK(truncated_distance(at::zeros({1, 1, 3, 3}), 1.5).min().item<double>() == 1.5);
}

TEST_CASE("the surface distance of a known volume has the value that was computed independently") {
  CHECK(surface(volume_logits(), volume_truth(), {.missed = false}) ==
        Approx(.307841609994093).epsilon(1e-9));
}

TEST_CASE("what is missed counts by its distance to the prediction") {
  const at::Tensor p = volume_probabilities();
  const at::Tensor t = volume_truth();
  for (const double limit : {1.5, 2.0}) {
    const at::Tensor d = by_pairs(p[0][0] > .5, limit) / limit;
    const double missed = (d * (1 - p) * t).mean().item<double>();
    REQUIRE(missed > 0.0);
    CHECK(surface(volume_logits(), t, {.limit = limit}) -
              surface(volume_logits(), t, {.limit = limit, .missed = false}) ==
          Approx(missed).epsilon(1e-9));
  }
  const at::Tensor none = at::full_like(p, -20.0);
  CHECK(surface(none, t) == Approx(t.mean().item<double>()).epsilon(1e-6));
  CHECK(surface(-none, at::zeros_like(t)) == Approx(1.0).epsilon(1e-6));
}

TEST_CASE("both terms fall when the prediction goes to the target, and rise when it leaves") {
  const at::Tensor t = sheet(2);
  // A sheet beside the target, and none at all: what is found too much and what is missed.
  const at::Tensor beside = at::roll(t, {5}, {2});
  for (const at::Tensor& start : {beside, at::zeros_like(t)}) {
    const bool found = start.any().item<bool>();
    const SurfaceDistances one{.missed = !found};
    double before = surface(logits_of(start), t, one);
    double inverted_before = inverted(logits_of(start), t).item<double>();
    for (const double part : {.15, .3, .45, .6}) {
      const at::Tensor z = at::lerp(logits_of(start), logits_of(t), part);
      CHECK(surface(z, t, one) < before);
      before = surface(z, t, one);
      if (found) CHECK(inverted(z, t).item<double>() > inverted_before);
      inverted_before = inverted(z, t).item<double>();
    }
  }
}

TEST_CASE("the harness finds the original's sign, and its term without a gradient") {
  CHECK(faults_as("volumes", [](auto& z, auto& t) {
          return surface_distance_loss(z, t).value;
        }).empty());
  const std::string wrong = faults_as("volumes", inverted);
  CHECK(holds(wrong, "direction: does not fall towards the target"));
  CHECK(holds(wrong, "direction: does not fall when row 0"));
  const Loss blind = [](auto& z, auto& t) {
    return (truncated_distance(at::sigmoid(z) > .5, 2.0, at::kDouble) * t).mean() + 0 * z.sum();
  };
  CHECK(holds(faults_as("volumes", blind), "no gradient at all"));
  const std::string remapped = faults_as("rows and voxels without weight", [](auto& z, auto& t) {
    return surface_distance_loss(z, at::where(t == ignored, 0.0, t)).value;
  });
  CHECK(holds(remapped, "weightless: has a gradient"));
}

TEST_CASE("what is found alone has the gradient of finite differences") {
  const Loss found = [](auto& z, auto& t) {
    return surface_distance_loss(z, t, {.distances = {.missed = false}}).value;
  };
  CHECK(largest_gradient_error(found, values({2, 1, 3, 4, 5}, 1), classes({2, 1, 3, 4, 5}, 2, 3)) <
        1e-6);
}

TEST_CASE("distances to the target may come from the loader, in voxels or squared in bytes") {
  const at::Tensor t = volume_truth();
  const at::Tensor z = values({1, 1, 5, 6, 7}, 1);
  const at::Tensor d = by_pairs(t[0][0], 100.0).unsqueeze(0);
  const double own = surface(z, t);
  CHECK(surface(z, t, {.to_target = d}) == Approx(own).epsilon(1e-12));
  CHECK(surface(z, t, {.to_target = d.square().round().to(at::kByte)}) ==
        Approx(own).epsilon(1e-12));
  CHECK(surface(z, t, {.to_target = at::zeros_like(d)}) < own);
}

TEST_CASE("ignored voxels are neither target nor prediction") {
  at::Tensor t = volume_truth();
  t.slice(4, 3, 5).fill_(2);
  const at::Tensor z = values({1, 1, 5, 6, 7}, 1);
  const Loss loss = [](auto& l, auto& y) {
    return surface_distance_loss(l, y, {.ignore = 2}).value;
  };
  const at::Tensor known = t != 2;
  const at::Tensor p = at::sigmoid(z);
  const at::Tensor to_target = by_pairs((t == 1)[0][0], 2.0) / 2;
  const at::Tensor to_found = by_pairs(((p > .5) & known)[0][0], 2.0) / 2;
  const at::Tensor all = to_target * p + to_found * (1 - p) * (t == 1);
  CHECK(loss(z, t).item<double>() ==
        Approx(all.masked_select(known).mean().item<double>()).epsilon(1e-12));
  const at::Tensor other = at::where(known, z, std::nan(""));
  CHECK(loss(other, t).item<double>() == loss(z, t).item<double>());
  CHECK(at::equal(gradient(loss, other, t), gradient(loss, z, t)));
  CHECK(gradient(loss, z, t).masked_select(t == 2).abs().max().item<double>() == 0.0);
  CHECK(loss(z, at::full_like(t, 2)).item<double>() == 0.0);
  CHECK(surface_distance_loss(z, t, {.ignore = 2}).weight.item<double>() == 150);
}

TEST_CASE("the surface distance is computed without a look at its values") {
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(at::kMeta);
  const Loss loss = [&](auto& z, auto& t) {
    return surface_distance_loss(z, t, {.ignore = 2, .of_samples = at::empty({2}, options)}).value;
  };
  const at::Tensor given =
      gradient(loss, at::empty({2, 1, 4, 5, 6}, options), at::empty({2, 4, 5, 6}, options));
  CHECK((given.sizes() == at::IntArrayRef{2, 1, 4, 5, 6}));
}

TEST_CASE("distances beyond two voxels are refused") {
  const at::Tensor z = at::zeros({1, 1, 3, 3});
  CHECK_THROWS_WITH_AS(truncated_distance(z, 3.0),
                       "[truncated_distance] limit must be in (0, 2] voxels, got 3.000000; "
                       "further away use an exact distance transform in the loader",
                       headrace::ConfigError);
  CHECK_THROWS_AS(truncated_distance(at::zeros({3, 3, 3}), 2.0), headrace::ConfigError);
  CHECK_THROWS_AS(surface(z, z, {.limit = 0.0}), headrace::ConfigError);
  CHECK_THROWS_AS(surface(z, z, {.limit = 2.5, .missed = false, .to_target = z}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(surface(z, z, {.to_target = at::zeros({1, 3, 4})}), headrace::ConfigError);
}
