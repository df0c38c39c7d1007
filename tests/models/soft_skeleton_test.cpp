// Soft skeletons beside the published recursion of poolings.
#include <headrace/engine/base/error.h>
#include <headrace/models/losses/detail/window_extremes.h>
#include <headrace/models/losses/soft_skeleton.h>
#include <headrace/tests/models/host_bytes.h>
#include <headrace/tests/models/loss_inputs.h>
#include <headrace/tests/models/sheet_volume.h>

#include "../support/torch_doctest.h"

#include <cmath>
#include <memory>
#include <vector>

#include <ATen/Parallel.h>

using namespace headrace::models;
using namespace headrace::test;
using doctest::Approx;
using headrace::models::detail::ErosionWindow;
using headrace::models::detail::window_loops;
using headrace::models::detail::window_operations;

namespace {

constexpr auto cross = SkeletonOperators::cross;
constexpr auto cube = SkeletonOperators::cube;

at::Tensor greatest(const at::Tensor& maps, std::vector<std::int64_t> window) {
  std::vector<std::int64_t> padding;
  for (const std::int64_t side : window)
    padding.push_back(side / 2);
  const std::vector<std::int64_t> stride(window.size(), 1);
  return maps.dim() == 5 ? at::max_pool3d(maps, window, stride, padding)
                         : at::max_pool2d(maps, window, stride, padding);
}

at::Tensor greatest_around(const at::Tensor& maps) {
  return greatest(maps, std::vector<std::int64_t>(static_cast<std::size_t>(maps.dim() - 2), 3));
}

at::Tensor eroded(const at::Tensor& maps, SkeletonOperators operators) {
  if (operators == cube) return -greatest_around(-maps);
  at::Tensor least;
  for (std::size_t axis = 0; axis + 2 < static_cast<std::size_t>(maps.dim()); ++axis) {
    std::vector<std::int64_t> window(static_cast<std::size_t>(maps.dim() - 2), 1);
    window[axis] = 3;
    const at::Tensor along = -greatest(-maps, window);
    least = least.defined() ? at::minimum(least, along) : along;
  }
  return least;
}

// As written: erosions are made twice, each pooling keeps its indices.
at::Tensor by_poolings(at::Tensor x, const SoftSkeletonOptions& options) {
  const auto layer = [&] { return at::relu(x - greatest_around(eroded(x, options.operators))); };
  if (options.operators == cross) {
    at::Tensor skeleton = layer();
    for (std::int64_t k = 0; k < options.iterations; ++k) {
      x = eroded(x, cross);
      const at::Tensor delta = layer();
      skeleton = skeleton + at::relu(delta - skeleton * delta);
    }
    return skeleton;
  }
  at::Tensor skeleton = at::zeros_like(x);
  for (std::int64_t k = 0; k < options.iterations; ++k) {
    skeleton = skeleton + at::relu(layer() - skeleton);
    x = eroded(x, cube);
  }
  return skeleton.clamp(0, 1);
}

// No two are the same.
at::Tensor distinct(at::IntArrayRef shape) {
  return at::sigmoid(values(shape, 5));
}

// Many are the same.
at::Tensor coarse(at::IntArrayRef shape, at::ScalarType type) {
  return (classes(shape, 5, 6).to(type) / 4).contiguous();
}

// Weighed by numbers that differ, so that no place stands for another.
Loss weighed(const std::function<at::Tensor(const at::Tensor&)>& skeleton) {
  return [skeleton](auto& x, auto&) { return (skeleton(x) * values(x.sizes(), 8)).sum(); };
}

double apart(const at::Tensor& one, const at::Tensor& other) {
  return (one - other).abs().max().item<double>();
}

const std::vector<std::vector<std::int64_t>>& shapes() {
  static const std::vector<std::vector<std::int64_t>> all{
      {1, 1, 6, 7, 8}, {2, 2, 4, 3, 9}, {1, 1, 1, 5, 1}, {2, 1, 9, 11}, {1, 3, 1, 1}};
  return all;
}

const std::vector<SoftSkeletonOptions>& all_options() {
  static const std::vector<SoftSkeletonOptions> all{{},
                                                    {.iterations = 0},
                                                    {.iterations = 5},
                                                    {.iterations = 1, .operators = cube},
                                                    {.iterations = 3, .operators = cube}};
  return all;
}

}  // namespace

TEST_CASE("soft skeletons and their gradients are those of the published poolings") {
  for (const auto& shape : shapes())
    for (const SoftSkeletonOptions& options : all_options()) {
      CAPTURE(shape.size());
      CAPTURE(options.iterations);
      const at::Tensor x = distinct(shape);
      const auto own = [&](const at::Tensor& maps) { return soft_skeleton(maps, options); };
      const auto published = [&](const at::Tensor& maps) { return by_poolings(maps, options); };
      CHECK(apart(own(x), published(x)) < 1e-14);
      CHECK(apart(gradient(weighed(own), x, {}), gradient(weighed(published), x, {})) < 1e-12);
      CHECK(apart(own(coarse(shape, at::kFloat)), published(coarse(shape, at::kFloat))) < 1e-6);
    }
}

TEST_CASE("soft skeletons have the gradient of finite differences where no two values are equal") {
  for (const SoftSkeletonOptions& options : all_options()) {
    const Loss own = weighed([&](const at::Tensor& maps) { return soft_skeleton(maps, options); });
    CHECK(largest_gradient_error(own, distinct({2, 1, 4, 5, 6}), {}) < 1e-6);
    CHECK(largest_gradient_error(own, distinct({1, 1, 7, 9}), {}) < 1e-6);
  }
}

TEST_CASE("soft skeletons of a known volume have the sums that were computed independently") {
  const auto sum = [](const at::Tensor& maps, SkeletonOperators operators) {
    return soft_skeleton(maps, {.operators = operators}).sum().item<double>();
  };
  CHECK(sum(volume_probabilities(), cross) == Approx(78.194444444444).epsilon(1e-12));
  CHECK(sum(volume_probabilities(), cube) == Approx(95).epsilon(1e-12));
  CHECK(sum(volume_truth(), cross) == 2.0);
  CHECK(sum(volume_truth(), cube) == 2.0);
}

TEST_CASE("a sheet's skeleton lies in its middle once iterations reach half of its thickness") {
  for (const SkeletonOperators operators : {cross, cube}) {
    const at::Tensor skeleton = soft_skeleton(sheet(5), {.operators = operators});
    const at::Tensor across = skeleton.select(3, 10).select(3, 10).flatten();
    CHECK(across[8].item<double>() == 1.0);
    CHECK(across.sum().item<double>() == 1.0);
    const SoftSkeletonOptions few{.iterations = 1, .operators = operators};
    CHECK(soft_skeleton(sheet(5), few).select(3, 10).select(3, 10).sum().item<double>() == 0.0);
  }
}

TEST_CASE("loops and operations of any device agree bit by bit, also where values are equal") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const std::vector<std::int64_t>& shape :
         {std::vector<std::int64_t>{2, 5, 6, 19}, {1, 1, 4, 1}, {3, 2, 1, 8}, {1, 9, 40, 41}})
      for (const ErosionWindow window : {ErosionWindow::cross, ErosionWindow::cube}) {
        const at::Tensor x = coarse(shape, type);
        const at::Tensor given = values(shape, 8).to(type);
        std::vector<at::Tensor> found[2];
        for (const auto* by : {&window_loops, &window_operations}) {
          std::vector<at::Tensor>& all = found[by == &window_loops ? 0 : 1];
          const at::Tensor erosion = at::full(shape, 77, at::kChar);
          const at::Tensor dilation = at::full(shape, 77, at::kChar);
          const at::Tensor least = by->erode(x, window, erosion);
          const at::Tensor layer = by->residue(x, least, dilation);
          const at::Tensor onto = values(shape, 9).to(type);
          by->add_erosion(onto, given, window, erosion);
          by->subtract_dilation(onto, given, dilation);
          all = {erosion, dilation, least, layer, onto};
          all.push_back(by->erode(x, window, {}));
          all.push_back(by->residue(x, least, {}));
          for (const at::Tensor& of : by->of_layers({layer, x, least * .5}, given, window))
            all.push_back(of);
        }
        REQUIRE(found[0].size() == 10);
        for (std::size_t i = 0; i < found[0].size(); ++i) {
          CAPTURE(i);
          CHECK(at::equal(found[0][i], found[1][i]));
        }
        CHECK(at::equal(found[0][2], found[0][5]));
        CHECK(at::equal(found[0][3], found[0][6]));
      }
}

TEST_CASE("of equal values the middle one is taken, else the one before it") {
  const auto codes = [](const at::Tensor& x, ErosionWindow window) {
    const at::Tensor found = at::empty_like(x, at::kChar);
    window_loops.erode(x, window, found);
    return found;
  };
  const at::Tensor flat = at::full({1, 3, 4, 5}, .5, at::kDouble);
  at::Tensor peak = flat.clone();
  peak[0][1][2][2] = 1.0;
  for (const ErosionWindow window : {ErosionWindow::cross, ErosionWindow::cube}) {
    CHECK(codes(flat, window).abs().max().item<int>() == 0);
    const at::Tensor of_peak = codes(peak, window);
    CHECK(of_peak.count_nonzero().item<int>() == 1);
    // A cross begins with z; a cube with x, and then finds nothing less along y and z.
    CHECK(of_peak[0][1][2][2].item<int>() == 1);
    at::Tensor ridge = peak.clone();
    ridge[0][1][2][1] = ridge[0][0][2][2] = 2.0;
    CHECK(codes(ridge, window)[0][1][2][2].item<int>() == 2);
  }
}

TEST_CASE("soft skeletons do not depend on the number of threads") {
  const at::Tensor x = at::sigmoid(at::sin(at::arange(2 * 24 * 60 * 70) * 1.7))
                           .view({2, 1, 24, 60, 70})
                           .to(at::kFloat);
  const int threads = at::get_num_threads();
  for (const SkeletonOperators operators : {cross, cube}) {
    std::vector<at::Tensor> skeletons;
    std::vector<at::Tensor> gradients;
    for (const int count : {1, 2, 8}) {
      at::set_num_threads(count);
      const auto own = [=](const at::Tensor& maps) {
        return soft_skeleton(maps, {.operators = operators});
      };
      skeletons.push_back(own(x));
      const at::Tensor leaf = x.clone().set_requires_grad(true);
      gradients.push_back(
          torch::autograd::grad({own(leaf)}, {leaf}, {values(x.sizes(), 8).to(at::kFloat)})[0]);
    }
    for (const std::size_t i : {1U, 2U}) {
      CHECK(at::equal(skeletons[0], skeletons[i]));
      CHECK(at::equal(gradients[0], gradients[i]));
    }
  }
  at::set_num_threads(threads);
}

TEST_CASE("between the passes soft skeletons keep six bytes a voxel and layer") {
  const auto kept = [](const auto& skeleton) {
    const at::Tensor x = distinct({1, 1, 8, 10, 12}).to(at::kFloat).set_requires_grad(true);
    const auto bytes = std::make_shared<HostBytes>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, bytes);
    const at::Tensor made = skeleton(x);
    return static_cast<double>(bytes->now()) / static_cast<double>(x.numel()) - 4;
  };
  const double own = kept([](auto& x) { return soft_skeleton(x); });
  const double published = kept([](auto& x) { return by_poolings(x, {}); });
  CHECK(own == Approx(4 * 6).epsilon(.05));
  CHECK(published > 10 * own);
}

TEST_CASE("what is not a number stays in a soft skeleton") {
  at::Tensor x = distinct({1, 1, 5, 6, 7});
  x[0][0][2][3][4] = std::nan("");
  CHECK(std::isnan(soft_skeleton(x).sum().item<double>()));
}

TEST_CASE("soft skeletons are computed without a look at their values") {
  const at::Tensor x = at::empty({2, 1, 4, 5, 6}, at::TensorOptions(at::kFloat).device(at::kMeta));
  for (const SkeletonOperators operators : {cross, cube}) {
    const Loss own = [&](auto& maps, auto&) {
      return soft_skeleton(maps, {.operators = operators}).sum();
    };
    CHECK((gradient(own, x, {}).sizes() == x.sizes()));
  }
}

TEST_CASE("soft skeletons refuse other shapes, types, iterations, and gradients of gradients") {
  CHECK_THROWS_WITH_AS(soft_skeleton(at::zeros({4, 5, 6})),
                       "[soft_skeleton] maps must be [N, K, height, width] or [N, K, depth, "
                       "height, width] of float or double, got [4, 5, 6] of Float",
                       headrace::ConfigError);
  CHECK_THROWS_AS(soft_skeleton(at::zeros({1, 1, 4, 4}, at::kHalf)), headrace::ConfigError);
  CHECK_THROWS_AS(soft_skeleton(at::zeros({1, 1, 4, 4}), {.iterations = -1}),
                  headrace::ConfigError);
  CHECK_THROWS_WITH_AS(soft_skeleton(at::zeros({1, 1, 4, 4}), {.iterations = 0, .operators = cube}),
                       "[soft_skeleton] iterations must be at least 1, got 0",
                       headrace::ConfigError);
  const at::Tensor x = distinct({1, 1, 4, 4}).set_requires_grad(true);
  CHECK_THROWS_AS(torch::autograd::grad({soft_skeleton(x).sum()}, {x}, {}, /*retain_graph=*/true,
                                        /*create_graph=*/true),
                  headrace::ConfigError);
}
