// Parts of ResidualUNet3D whose backward pass is ours: norm, sum and Mish in one, and pooling.
#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/norm_mish.h>
#include <headrace/models/networks/detail/residual_unet3d_parts.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/host_bytes.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/autograd/autograd.h>

using namespace headrace::models;
using namespace headrace::test;
namespace parts = headrace::models::detail;
using doctest::Contains;
using parts::halved_volumes;
using parts::norm_mish;
using parts::norm_mish_convolved;

namespace {

using Tensors = std::vector<at::Tensor>;
// Of maps, weight, bias and what stands beside or behind.
using Function = std::function<at::Tensor(const Tensors&)>;

at::Tensor fused(const Tensors& x) {
  return norm_mish(x[0], {.weight = x[1], .bias = x[2]}, x.size() > 3 ? x[3] : at::Tensor());
}

at::Tensor projected(const Tensors& x) {
  return norm_mish(x[0], {.weight = x[1], .bias = x[2]},
                   parts::Projection{.maps = x[3], .weight = x[4], .bias = x[5]});
}

at::Tensor convolved(const Tensors& x) {
  return norm_mish_convolved(x[0], {.weight = x[1], .bias = x[2]}, x[3]);
}

at::Tensor normed(const Tensors& x) {
  const at::Tensor maps = at::instance_norm(x[0], {}, {}, {}, {}, /*use_input_stats=*/true,
                                            /*momentum=*/0.0, /*eps=*/1e-5, /*cudnn_enabled=*/true);
  std::vector<std::int64_t> sizes{x[1].dim() == 2 ? x[1].size(0) : 1, x[0].size(1)};
  sizes.resize(static_cast<std::size_t>(x[0].dim()), 1);
  return maps * x[1].view(sizes) + x[2].view(sizes);
}

at::Tensor of_layers(const Tensors& x) {
  return at::mish(x.size() > 3 ? normed(x) + x[3] : normed(x));
}

at::Tensor projected_by_layers(const Tensors& x) {
  return at::mish(normed(x) + at::conv3d(x[3], x[4], x[5]));
}

at::Tensor convolved_by_layers(const Tensors& x) {
  return at::conv3d(at::mish(normed(x)), x[3], {}, /*stride=*/1, /*padding=*/1);
}

// Two samples of three maps; `of_samples` gives each its own weight and bias.
Tensors inputs(bool residual, bool of_samples = false, at::ScalarType type = at::kDouble) {
  const std::vector<std::int64_t> sizes{2, 3, 3, 4, 5};
  const std::vector<std::int64_t> affine =
      of_samples ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{3};
  Tensors all{hashed_fill("maps", sizes, .4, 2.0), hashed_fill("weight", affine, 1.0, .9),
              hashed_fill("bias", affine, 0.0, .7)};
  if (residual) all.push_back(hashed_fill("residual", sizes, 0.0, 1.5));
  for (at::Tensor& tensor : all)
    tensor = tensor.to(type).requires_grad_();
  return all;
}

// With a projection from four maps.
Tensors inputs_of_projection() {
  Tensors all = inputs(false);
  all.push_back(hashed_fill("residual", {2, 4, 3, 4, 5}, 0.0, 1.5).requires_grad_());
  all.push_back(hashed_fill("kernel", {3, 4, 1, 1, 1}, 0.0, .5).requires_grad_());
  all.push_back(hashed_fill("kernel bias", {3}, 0.0, .5).requires_grad_());
  return all;
}

// With a convolution to two maps.
Tensors inputs_of_convolution() {
  Tensors all = inputs(false, true);
  all.push_back(hashed_fill("kernel", {2, 3, 3, 3, 3}, 0.0, .2).requires_grad_());
  return all;
}

Tensors gradients(const Function& function, const Tensors& of) {
  const at::Tensor out = function(of);
  const at::Tensor target = hashed_fill("target", out.sizes(), 0.0, 1.0).to(out.scalar_type());
  return torch::autograd::grad({(out * target).sum()}, of);
}

double farthest(const at::Tensor& got, const at::Tensor& expected) {
  return (got.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
}

void check_differences(const Function& function, const Tensors& of) {
  const Tensors found = gradients(function, of);
  const at::NoGradGuard no_gradient;
  const at::Tensor target = hashed_fill("target", function(of).sizes(), 0.0, 1.0);
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < of.size(); ++i) {
    CAPTURE(i);
    at::Tensor values = of[i].view(-1);
    const at::Tensor gradient = found[i].reshape(-1);
    for (std::int64_t k = 0; k < values.numel(); ++k) {
      const double kept = values[k].item<double>();
      values[k] = kept + step;
      const double above = (function(of) * target).sum().item<double>();
      values[k] = kept - step;
      const double below = (function(of) * target).sum().item<double>();
      values[k] = kept;
      const double expected = (above - below) / (2.0 * step);
      CHECK(std::abs(gradient[k].item<double>() - expected) < 1e-6);
    }
  }
}

// Floats that are there between the passes beside those before, a value of the maps.
double kept_by(const Function& function, const Tensors& of) {
  const auto bytes = std::make_shared<HostBytes>();
  const c10::DebugInfoGuard watch(c10::DebugInfoKind::PROFILER_STATE, bytes);
  const at::Tensor out = function(of);
  return static_cast<double>(bytes->now()) /
         static_cast<double>(sizeof(float) * static_cast<std::size_t>(of[0].numel()));
}

void check_same(const Function& function, const Function& layers, const Tensors& of) {
  CHECK(farthest(function(of), layers(of)) < 1e-12);
  const Tensors got = gradients(function, of);
  const Tensors expected = gradients(layers, of);
  for (std::size_t i = 0; i < of.size(); ++i) {
    CAPTURE(i);
    CHECK(farthest(got[i], expected[i]) < 1e-12);
  }
  const at::NoGradGuard no_gradient;
  CHECK(farthest(function(of), layers(of)) < 1e-12);
}

}  // namespace

TEST_CASE("norm, sum and Mish in one give what the layers give") {
  for (const bool residual : {false, true})
    for (const bool of_samples : {false, true}) {
      CAPTURE(residual);
      CAPTURE(of_samples);
      check_same(fused, of_layers, inputs(residual, of_samples));
    }
  check_same(projected, projected_by_layers, inputs_of_projection());
  check_same(convolved, convolved_by_layers, inputs_of_convolution());
}

TEST_CASE("gradients of norm, sum and Mish are those of finite differences") {
  for (const bool residual : {false, true})
    check_differences(fused, inputs(residual, residual));
  check_differences(projected, inputs_of_projection());
  check_differences(convolved, inputs_of_convolution());
}

TEST_CASE("maps of any layout and of one to three axes are normed") {
  Tensors of = inputs(true);
  const at::Tensor expected = fused(of);
  for (const std::size_t i : {0U, 3U})
    of[i] = of[i].detach().contiguous(at::MemoryFormat::ChannelsLast3d).requires_grad_();
  CHECK(farthest(fused(of), expected) < 1e-12);
  CHECK(farthest(gradients(fused, of)[0], gradients(of_layers, of)[0]) < 1e-12);
  for (const std::size_t i : {0U, 3U})
    of[i] = of[i].detach().flatten(2);
  CHECK(farthest(fused(of), expected.flatten(2)) < 1e-12);
}

TEST_CASE("in bfloat16 statistics are float's, and results and gradients those within rounding") {
  for (const bool residual : {false, true}) {
    CAPTURE(residual);
    Tensors exact = inputs(residual, false, at::kFloat);
    Tensors lowered = exact;
    for (const std::size_t i : {0U, 3U}) {
      if (i >= exact.size()) continue;
      lowered[i] = exact[i].detach().to(at::kBFloat16).requires_grad_();
      exact[i] = lowered[i].detach().to(at::kFloat).requires_grad_();
    }
    const at::Tensor out = fused(lowered);
    CHECK((out.scalar_type() == at::kBFloat16));
    CHECK(farthest(out, of_layers(exact)) < 3e-2);
    // The same numbers in a gradient of the same type.
    const at::Tensor target = hashed_fill("target", out.sizes(), 0.0, 1.0).to(at::kBFloat16);
    const Tensors got = torch::autograd::grad({out}, lowered, {target});
    const Tensors expected =
        torch::autograd::grad({of_layers(exact)}, exact, {target.to(at::kFloat)});
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK((got[i].scalar_type() == lowered[i].scalar_type()));
      CHECK(farthest(got[i], expected[i]) < 1e-2 * expected[i].abs().max().item<double>());
    }
  }
  // A mean that bfloat16 cannot hold beside the deviation.
  Tensors far = inputs(false, false, at::kFloat);
  far[0] = (100.0 + far[0].detach()).to(at::kBFloat16).requires_grad_();
  Tensors same = far;
  same[0] = far[0].detach().to(at::kFloat).requires_grad_();
  CHECK(farthest(fused(far), of_layers(same)) < 3e-2);
  CHECK(farthest(gradients(fused, far)[1], gradients(of_layers, same)[1]) < .3);
}

TEST_CASE("in bfloat16 a projection and a convolution are computed in it, whatever autocast says") {
  const auto lowered = [](const Tensors& of) {
    Tensors low = of;
    low[0] = of[0].detach().to(at::kBFloat16).requires_grad_();
    for (const std::size_t i : {1U, 2U, 3U})
      low[i] = of[i].detach().to(at::kFloat).requires_grad_();
    return low;
  };
  const auto check = [](const Function& function, const Function& layers, const Tensors& low,
                        const Tensors& exact) {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    const at::Tensor out = function(low);
    at::autocast::set_autocast_enabled(at::kCPU, false);
    at::autocast::clear_cache();
    CHECK((out.scalar_type() == at::kBFloat16));
    const at::Tensor expected = layers(exact);
    CHECK(farthest(out, expected) < 2e-2 * expected.abs().max().item<double>());
    const at::Tensor target = hashed_fill("target", out.sizes(), 0.0, 1.0);
    const Tensors got = torch::autograd::grad({out}, low, {target.to(at::kBFloat16)});
    const Tensors wanted = torch::autograd::grad({expected}, exact, {target});
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK((got[i].scalar_type() == low[i].scalar_type()));
      CHECK(farthest(got[i], wanted[i]) < 4e-2 * wanted[i].abs().max().item<double>());
    }
  };
  const Tensors projection = inputs_of_projection();
  check(projected, projected_by_layers, lowered(projection), projection);
  const Tensors convolution = inputs_of_convolution();
  check(convolved, convolved_by_layers, lowered(convolution), convolution);
}

TEST_CASE("only what requires a gradient gets one") {
  Tensors of = inputs(true);
  for (const std::size_t i : {0U, 1U, 2U})
    of[i] = of[i].detach();
  const at::Tensor out = fused(of);
  const at::Tensor found = torch::autograd::grad({out.sum()}, {of[3]}).front();
  CHECK(farthest(found, torch::autograd::grad({of_layers(of).sum()}, {of[3]}).front()) < 1e-12);
  of[3] = of[3].detach();
  CHECK_FALSE(fused(of).requires_grad());
}

TEST_CASE("norm, sum and Mish keep a map less than the layers with and without a residual") {
  for (const bool residual : {false, true}) {
    CAPTURE(residual);
    Tensors of = inputs(residual, false, at::kFloat);
    for (const std::size_t i : {0U, 3U})
      if (i < of.size()) of[i] = at::rand({2, 3, 32, 32, 32}).requires_grad_();
    // The result, statistics of each map, weight and bias for each.
    CHECK(kept_by(fused, of) < 1.001);
    const auto layers = [](const Tensors& x) {
      const at::Tensor normed = at::instance_norm(x[0], x[1], x[2], {}, {}, true, 0.0, 1e-5, true);
      return at::mish(x.size() > 3 ? normed + x[3] : normed);
    };
    CHECK(kept_by(layers, of) > 1.999);
  }
  // The result alone, whose maps are as many.
  Tensors of = inputs(false, false, at::kFloat);
  of[0] = at::rand({2, 3, 32, 32, 32}).requires_grad_();
  of.push_back(at::rand({3, 3, 3, 3, 3}).requires_grad_());
  CHECK(kept_by(convolved, of) < 1.001);
  of[3] = at::rand({2, 1, 32, 32, 32}).requires_grad_();
  of.push_back(at::rand({3, 1, 1, 1, 1}).requires_grad_());
  of.push_back(at::rand({3}).requires_grad_());
  CHECK(kept_by(projected, of) < 1.001);
}

TEST_CASE("gradients of gradients are refused") {
  const Tensors of = inputs(true);
  const Tensors behind = inputs_of_convolution();
  for (const at::Tensor& out : {fused(of), convolved(behind)})
    CHECK_THROWS_WITH_AS(
        torch::autograd::grad({out.sum()}, {of[0], behind[0]}, {}, true, true, true),
        Contains("[norm_mish] has no gradients of gradients"), headrace::ConfigError);
}

TEST_CASE("a residual block is its layers, and drops the maps that Dropout3d drops") {
  for (const std::int64_t out : {3, 4}) {
    for (const bool training : {false, true}) {
      CAPTURE(out);
      CAPTURE(training);
      at::manual_seed(5);
      parts::ResidualBlock3d block({.in = 3, .out = out, .dropout = .4});
      block.to(at::kDouble);
      block.train(training);
      const at::Tensor maps = hashed_fill("maps", {2, 3, 4, 5, 6}, 0.0, 1.0);
      at::manual_seed(9);
      const at::Tensor got = block.forward(maps);
      at::manual_seed(9);
      const at::Tensor inner = block.conv2(
          at::mish(normed({block.conv1(maps), block.norm1->weight, block.norm1->bias})));
      const at::Tensor dropped = at::feature_dropout(
          normed({inner, block.norm2->weight, block.norm2->bias}), .4, training);
      const at::Tensor residual = out == 3 ? maps : block.proj(maps);
      CHECK(farthest(got, at::mish(dropped + residual)) < 1e-12);
      CHECK(dropped.abs().sum({2, 3, 4}).eq(0.0).any().item<bool>() == training);
    }
  }
}

TEST_CASE("pooling by two gives what the layer gives and keeps no input") {
  for (const std::vector<std::int64_t>& sides :
       {std::vector<std::int64_t>{4, 6, 8}, std::vector<std::int64_t>{5, 7, 3}}) {
    const std::vector<std::int64_t> sizes{2, 3, sides[0], sides[1], sides[2]};
    at::Tensor maps = hashed_fill("maps", sizes, 0.0, 1.0);
    maps.view(-1).slice(0, 0, 2).fill_(2.0);  // two that are the largest
    maps.requires_grad_();
    const at::Tensor expected = at::max_pool3d(maps, 2);
    const at::Tensor got = halved_volumes(maps);
    CHECK(at::equal(got, expected));
    const at::Tensor target = hashed_fill("target", got.sizes(), 0.0, 1.0);
    CHECK(at::equal(torch::autograd::grad({got}, {maps}, {target}).front(),
                    torch::autograd::grad({expected}, {maps}, {target}).front()));
  }
  // One result and eight bytes for each of its values.
  const auto pool = [](const Tensors& x) { return halved_volumes(x[0] + 1.0); };
  CHECK(kept_by(pool, {at::rand({1, 2, 32, 32, 32}).requires_grad_()}) < 3.01 / 8.0);
}
