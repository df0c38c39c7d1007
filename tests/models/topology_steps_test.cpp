// What steps down the gradient of the topological loss make of a prediction.
#include <headrace/models/losses/topology_loss.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/topology_shapes.h>

#include "../support/torch_doctest.h"

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;

namespace {

at::Tensor cost_of(const at::Tensor& logits, const Betti& betti) {
  const at::Tensor target = at::tensor(at::ArrayRef<std::int64_t>(betti.data(), betti.size()));
  return topology_loss(logits, {.betti = target.view({1, 3})}).value;
}

double step_cost(const at::Tensor& logits, const Betti& betti) {
  return cost_of(logits, betti).item<double>();
}

at::Tensor step_gradient(const at::Tensor& logits, const Betti& betti) {
  return gradient([&](auto& z, auto&) { return cost_of(z, betti); }, logits, {});
}

// Logits that lean to a mask, no two of them equal.
at::Tensor leaning(const at::Tensor& mask) {
  const at::Tensor noise = hashed_fill("leaning", mask.sizes(), 0.0, .3);
  return ((mask.to(at::kDouble) * 4 - 2) + noise).unsqueeze(0).unsqueeze(0);
}

at::Tensor mask_of(const at::Tensor& logits) {
  return logits[0][0] > 0;
}

// What steps down the gradient make of the prediction.
Betti betti_after(at::Tensor logits, const Betti& betti, int steps) {
  for (int step = 0; step < steps; ++step)
    logits = logits - 2.0 * step_gradient(logits, betti);
  return betti_of(mask_of(logits));
}

}  // namespace

TEST_CASE("a missing bridge is drawn up") {
  at::Tensor mask = sheet({6, 9, 9});
  mask.select(2, 4).fill_(false);
  REQUIRE(betti_of(mask) == Betti{2, 0, 0});
  const at::Tensor z = leaning(mask);
  const at::Tensor given = step_gradient(z, {1, 0, 0})[0][0];
  CHECK(given.select(2, 4).min().item<double>() < -.01);
  CHECK(betti_after(z, {2, 0, 0}, 20) == Betti{2, 0, 0});
  CHECK(betti_after(z, {1, 0, 0}, 20) == Betti{1, 0, 0});
}

TEST_CASE("a spurious blob is pushed down") {
  at::Tensor mask = sheet({8, 7, 7});
  mask[0][2][3] = true;
  REQUIRE(betti_of(mask) == Betti{2, 0, 0});
  at::Tensor z = leaning(mask);
  z[0][0][0][2][3] = .4;  // a hill of less height
  const at::Tensor given = step_gradient(z, {1, 0, 0})[0][0];
  CHECK(given[0][2][3].item<double>() > .01);
  CHECK(betti_after(z, {1, 0, 0}, 20) == Betti{1, 0, 0});
  CHECK(betti_after(z, {2, 0, 0}, 20) == Betti{2, 0, 0});
}

TEST_CASE("a hole is closed, and where it belongs it is kept open") {
  at::Tensor mask = sheet({6, 9, 9});
  mask.select(1, 4).select(1, 5).fill_(false);
  REQUIRE(betti_of(mask) == Betti{1, 1, 0});
  const at::Tensor z = leaning(mask);
  const at::Tensor given = step_gradient(z, {1, 0, 0})[0][0].select(1, 4).select(1, 5);
  CHECK(given.min().item<double>() < -.01);
  CHECK(betti_after(z, {1, 0, 0}, 30) == Betti{1, 0, 0});
  CHECK(betti_after(z, {1, 1, 0}, 30) == Betti{1, 1, 0});
}

TEST_CASE("a cavity is filled") {
  at::Tensor mask = box({7, 7, 7});
  mask[3][3][3] = false;
  REQUIRE(betti_of(mask) == Betti{1, 0, 1});
  const at::Tensor z = leaning(mask);
  CHECK(step_gradient(z, {1, 0, 0})[0][0][3][3][3].item<double>() < -.01);
  CHECK(betti_after(z, {1, 0, 0}, 20) == Betti{1, 0, 0});
  CHECK(betti_after(z, {1, 0, 1}, 20) == Betti{1, 0, 1});
}

namespace {

at::Tensor eroded(const at::Tensor& p) {
  return -at::max_pool3d(-p, {5, 5, 5}, {1, 1, 1}, {2, 2, 2});
}

// The surface job's former term: its holes are erosions, and of thin sheets both are empty.
double former_top_loss(const at::Tensor& p, const at::Tensor& truth) {
  const auto holes = [](const at::Tensor& x) { return at::relu(.2 - eroded(x)).mean(); };
  return ((eroded(p) - eroded(truth)).abs().mean() + (holes(p) - holes(truth)).abs())
      .item<double>();
}

}  // namespace

TEST_CASE("a hole in a thin sheet is seen here, and not by erosions of 5 voxels") {
  const at::Tensor whole = sheet({9, 11, 11});
  at::Tensor pierced = whole.clone();
  pierced.select(1, 5).select(1, 5).fill_(false);
  const auto p = [](const at::Tensor& mask) {
    return (mask.to(at::kDouble) * .8 + .1).unsqueeze(0).unsqueeze(0);
  };
  const at::Tensor truth = whole.to(at::kDouble).unsqueeze(0).unsqueeze(0);
  CHECK(former_top_loss(p(whole), truth) == former_top_loss(p(pierced), truth));
  const double with = step_cost(at::logit(p(pierced)), {1, 0, 0});
  const double without = step_cost(at::logit(p(whole)), {1, 0, 0});
  CHECK(without == Approx(.01));
  CHECK(with == Approx(.01 + .64));
}
