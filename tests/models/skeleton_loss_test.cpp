#include <headrace/engine/base/error.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/models/losses/skeleton_losses.h>
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

const SoftSkeletonOptions cube_skeleton{.operators = SkeletonOperators::cube};

double cldice(const at::Tensor& z, const at::Tensor& t, const ClDiceOptions& options = {}) {
  return cldice_loss(z, t, options).value.item<double>();
}

at::Tensor with_hole(const at::Tensor& sheet) {
  at::Tensor holed = sheet.clone();
  holed.slice(3, 8, 11).slice(4, 8, 11).fill_(0.0);
  return holed;
}

at::Tensor eroded_by_5(const at::Tensor& p) {
  return -at::max_pool3d(-p, {5, 5, 5}, {1, 1, 1}, {2, 2, 2});
}

// What the original job called holes.
at::Tensor holes(const at::Tensor& p) {
  return 1.0 - at::max_pool3d(1.0 - p, {5, 5, 5}, {1, 1, 1}, {2, 2, 2});
}

// What it called a topological loss, of components and holes.
double simple_top_loss(const at::Tensor& p, const at::Tensor& t) {
  const auto sparse = [](const at::Tensor& maps) { return at::relu(.2 - holes(maps)).mean(); };
  return (at::abs(eroded_by_5(p) - eroded_by_5(t)).mean() + at::abs(sparse(p) - sparse(t)))
      .item<double>();
}

}  // namespace

TEST_CASE("losses of a known volume have the values that were computed independently") {
  const at::Tensor z = volume_logits();
  const at::Tensor t = volume_truth();
  CHECK(cldice(z, t) == Approx(.721566985940463).epsilon(1e-9));
  CHECK(cldice(z, t, {.skeleton = cube_skeleton}) == Approx(.717127607957302).epsilon(1e-9));
  CHECK(soft_dice_loss(z, t, {.smooth = 1.0, .sigmoid = true}).value.item<double>() ==
        Approx(.748826291079812).epsilon(1e-9));
  const MaskedMaps maps = masked_maps(z, t);
  CHECK(maps.p.mean().item<double>() == Approx(.5).epsilon(1e-9));
  const auto share = [](const at::Tensor& skeleton, const at::Tensor& mask) {
    return ((skeleton * mask).sum().item<double>() + 1) / (skeleton.sum().item<double>() + 1);
  };
  const SheetSkeletons official = sheet_skeletons(maps);
  CHECK(share(official.p, t) == Approx(.180287618379516).epsilon(1e-9));
  CHECK(share(official.truth, maps.p) == Approx(.611111111111111).epsilon(1e-9));
  CHECK(share(sheet_skeletons(maps, cube_skeleton).p, t) == Approx(.184027777777778).epsilon(1e-9));
}

TEST_CASE("losses that share maps and skeletons are those that make their own") {
  const at::Tensor z = values({2, 1, 4, 5, 6}, 1);
  at::Tensor t = classes({2, 1, 4, 5, 6}, 2, 3);
  t.slice(4, 0, 6, 4).fill_(2);
  const at::Tensor rows = at::tensor({1., .5}, at::kDouble);
  const MaskedMaps maps = masked_maps(z, t, {.ignore = 2, .of_samples = rows});
  const SheetSkeletons skeletons = sheet_skeletons(maps, cube_skeleton);
  const MeanLoss own =
      cldice_loss(z, t, {.ignore = 2, .of_samples = rows, .skeleton = cube_skeleton});
  CHECK(cldice_loss(maps, skeletons).value.item<double>() == own.value.item<double>());
  CHECK(own.weight.item<double>() == 1.5);
  const MeanLoss apart = morphological_skeleton_loss(
      z, t, {.ignore = 2, .of_samples = rows, .skeleton = cube_skeleton});
  CHECK(morphological_skeleton_loss(maps, skeletons).value.item<double>() ==
        apart.value.item<double>());
  CHECK(apart.weight.item<double>() == 80 + .5 * 80);
  const at::Tensor skeleton_of_rows = soft_skeleton(maps.p, cube_skeleton) - skeletons.truth;
  const at::Tensor sums = skeleton_of_rows.abs().flatten(1).sum(1);
  CHECK(apart.value.item<double>() ==
        Approx((sums[0].item<double>() + .5 * sums[1].item<double>()) / 120).epsilon(1e-12));
}

TEST_CASE("a target's skeleton may come from the loader, in bytes") {
  const at::Tensor z = values({2, 1, 4, 5, 6}, 1);
  at::Tensor t = classes({2, 4, 5, 6}, 2, 3).to(at::kByte);
  t.slice(3, 0, 6, 4).fill_(2);
  const at::Tensor mask = (t == 1).to(at::kFloat).unsqueeze(1);
  at::Tensor given = soft_skeleton(mask).squeeze(1).to(at::kByte);
  CHECK(at::equal(given.to(at::kFloat).unsqueeze(1), soft_skeleton(mask)));
  given.masked_fill_(t == 2, 1);  // no skeleton: nothing counts there
  CHECK(cldice(z, t, {.ignore = 2, .target_skeleton = given}) == cldice(z, t, {.ignore = 2}));
  CHECK(morphological_skeleton_loss(z, t, {.ignore = 2, .target_skeleton = given})
            .value.item<double>() ==
        morphological_skeleton_loss(z, t, {.ignore = 2}).value.item<double>());
  given.zero_();
  CHECK(cldice(z, t, {.ignore = 2, .target_skeleton = given}) != cldice(z, t, {.ignore = 2}));
}

TEST_CASE("no gradient goes through the target's skeleton, and none is kept without need") {
  const at::Tensor z = values({1, 1, 5, 6}, 1);
  const MaskedMaps maps =
      masked_maps(at::Tensor(z).clone().set_requires_grad(true), classes({1, 1, 5, 6}, 2, 3));
  CHECK(sheet_skeletons(maps).p.requires_grad());
  CHECK_FALSE(sheet_skeletons(maps).truth.requires_grad());
}

TEST_CASE("skeleton recall is what of the grown skeleton is found") {
  const at::Tensor z = at::logit(at::tensor({.5, .25, .75, .9}, at::kDouble)).view({1, 1, 2, 2});
  const at::Tensor t = at::tensor({1, 1, 0, 2}).view({1, 1, 2, 2});
  const at::Tensor grown = at::tensor({1, 1, 0, 1}, at::kByte).view({1, 2, 2});
  const auto loss = [&](const SkeletonRecallOptions& options) {
    return skeleton_recall_loss(z, t, grown, options).value.item<double>();
  };
  CHECK(loss({.ignore = 2}) == Approx(1 - (.75 + 1) / (2 + 1)).epsilon(1e-12));
  CHECK(loss({.ignore = 2, .smooth = .5}) == Approx(1 - (.75 + .5) / (2 + .5)).epsilon(1e-12));
  CHECK(loss({}) == Approx(1 - (1.65 + 1) / (3 + 1)).epsilon(1e-12));
}

TEST_CASE("skeleton recall is a mean of rows by their weights") {
  const at::Tensor z = values({3, 1, 4, 5}, 1);
  const at::Tensor t = classes({3, 1, 4, 5}, 2, 3);
  const auto of = [&](std::int64_t row) {
    return skeleton_recall_loss(z.slice(0, row, row + 1), t.slice(0, row, row + 1),
                                t.slice(0, row, row + 1))
        .value.item<double>();
  };
  const MeanLoss loss = skeleton_recall_loss(z, t, t, {.of_samples = at::tensor({1., 0., .5})});
  CHECK(loss.value.item<double>() == Approx((of(0) + .5 * of(2)) / 1.5).epsilon(1e-12));
  CHECK(loss.weight.item<double>() == 1.5);
}

TEST_CASE("a right prediction costs nothing, and where nothing counts there is no loss") {
  const at::Tensor t = sheet(4);
  const at::Tensor right = (t * 2 - 1) * 60;
  CHECK(cldice(right, t) == Approx(0).epsilon(1e-9));
  CHECK(morphological_skeleton_loss(right, t).value.item<double>() == Approx(0).epsilon(1e-9));
  CHECK(skeleton_recall_loss(right, t, t).value.item<double>() == Approx(0).epsilon(1e-9));
  const at::Tensor nothing = at::full_like(t, 2);
  CHECK(cldice(right, nothing, {.ignore = 2}) == 0.0);
  CHECK(morphological_skeleton_loss(right, nothing, {.ignore = 2}).value.item<double>() == 0.0);
  CHECK(skeleton_recall_loss(right, nothing, t, {.ignore = 2}).value.item<double>() == 0.0);
}

TEST_CASE("logits of ignored voxels may be anything") {
  at::Tensor t = volume_truth();
  t.slice(4, 3, 5).fill_(2);
  const at::Tensor z = values({1, 1, 5, 6, 7}, 1);
  const at::Tensor other = at::where(t == 2, std::nan(""), z);
  const std::vector<Loss> losses{
      [](auto& l, auto& y) { return cldice_loss(l, y, {.ignore = 2}).value; },
      [](auto& l, auto& y) { return morphological_skeleton_loss(l, y, {.ignore = 2}).value; },
      [](auto& l, auto& y) { return skeleton_recall_loss(l, y, y == 1, {.ignore = 2}).value; }};
  for (const Loss& loss : losses) {
    CHECK(loss(other, t).item<double>() == loss(z, t).item<double>());
    CHECK(at::equal(gradient(loss, other, t), gradient(loss, z, t)));
    CHECK(gradient(loss, z, t).masked_select(t == 2).abs().max().item<double>() == 0.0);
  }
}

TEST_CASE("a hole in a thin sheet costs, where the original's topological term saw nothing") {
  const at::Tensor whole = sheet(4);
  const at::Tensor p = at::sigmoid(values({1, 1, 16, 20, 20}, 3));
  CHECK(at::allclose(holes(p), eroded_by_5(p), 0.0, 1e-15));
  CHECK(eroded_by_5(whole).abs().max().item<double>() == 0.0);
  CHECK(simple_top_loss(with_hole(whole), whole) == 0.0);
  const at::Tensor found = logits_of(whole);
  const at::Tensor holed = logits_of(with_hole(whole));
  const at::Tensor skeleton = soft_skeleton(whole);
  const auto recall = [&](const at::Tensor& z) {
    return skeleton_recall_loss(z, whole, skeleton).value.item<double>();
  };
  CHECK(cldice(holed, whole) > cldice(found, whole) + .01);
  CHECK(recall(holed) > recall(found) + .01);
}

TEST_CASE("the harness finds what is to be ignored taken as background") {
  int seen = 0;
  for (const RegisteredLoss& registered : registered_losses()) {
    if (registered.options != "rows and voxels without weight") continue;
    if (registered.function != "cldice_loss" &&
        registered.function != "morphological_skeleton_loss")
      continue;
    RegisteredLoss twin = registered;
    twin.make = [make = registered.make](std::int64_t times) {
      LossCase one = make(times);
      one.target = at::where(one.target == ignored, 0.0, one.target);
      return one;
    };
    std::string faults;
    for (const std::string& fault : faults_of(twin))
      faults += fault;
    CHECK(faults.find("weightless: has a gradient") != std::string::npos);
    CHECK(faults.find("weightless: changes the value") != std::string::npos);
    ++seen;
  }
  CHECK(seen == 2);
}

TEST_CASE("skeleton losses refuse other shapes and a smooth that is not positive") {
  const at::Tensor z = at::zeros({2, 1, 4, 4});
  CHECK_THROWS_WITH_AS(cldice_loss(z, z, {.smooth = 0.0}),
                       "[cldice_loss] smooth must be positive, got 0.000000",
                       headrace::ConfigError);
  CHECK_THROWS_AS(skeleton_recall_loss(z, z, z, {.smooth = 0.0}), headrace::ConfigError);
  CHECK_THROWS_AS(skeleton_recall_loss(z, z, at::zeros({2, 4, 5})), headrace::ConfigError);
  CHECK_THROWS_AS(cldice_loss(z, z, {.target_skeleton = at::zeros({2, 4, 5})}),
                  headrace::ConfigError);
  CHECK_THROWS_AS(morphological_skeleton_loss(at::zeros({2, 2, 4, 4}), at::zeros({2, 2, 4, 4})),
                  headrace::ConfigError);
}
