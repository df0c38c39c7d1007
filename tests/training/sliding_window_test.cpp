#include <headrace/engine/base/error.h>
#include <headrace/tests/support/skip.h>
#include <headrace/training/sliding_window.h>
#include <headrace/training/tensor_memory.h>

#include "../support/torch_doctest.h"
#include "../support/torch_gpu.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

using namespace headrace::training;
using headrace::ConfigError;
using headrace::gaussian_window;
using headrace::GridBox;
using headrace::GridExtent;
using headrace::WindowGrid;
namespace test = headrace::test;

namespace {

/// [channels, z, y, x] in no order, about -1 to 1.
at::Tensor volume_of(at::IntArrayRef shape) {
  std::int64_t count = 1;
  for (const std::int64_t side : shape)
    count *= side;
  const at::Tensor places = at::arange(count, at::kDouble);
  return (places * 12.9898).sin().mul(43758.5453).frac().to(at::kFloat).view(shape);
}

/// Two classes, voxel by voxel.
at::Tensor by_voxel(const at::Tensor& windows) {
  const at::Tensor first = windows.narrow(1, 0, 1);
  return at::cat({first * 2 + 1, first * first}, 1);
}

/// Two classes with the voxels around, and what a window's border does.
at::Tensor convolved(const at::Tensor& windows) {
  const at::Tensor kernel = volume_of({2, windows.size(1), 3, 3, 3});
  return at::conv3d(windows, kernel, {}, 1, 1);
}

/// Of the voxel's place in its window, so that overlapping windows disagree.
at::Tensor places(const at::Tensor& windows) {
  const at::Tensor along = at::arange(windows.size(4), at::kFloat);
  return (windows.narrow(1, 0, 1) + along).contiguous();
}

double apart(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

/// The same by its definition, in double and with the windows in reverse.
at::Tensor defined(const WindowNetwork& network, const at::Tensor& volume,
                   const SlidingWindowOptions& options) {
  const GridExtent extent{volume.size(1), volume.size(2), volume.size(3)};
  const WindowGrid grid(extent, options.windows);
  const GridExtent& patch = grid.patch();
  const at::Tensor weights = at::tensor(gaussian_window(patch, options.weights))
                                 .view({patch[0], patch[1], patch[2]})
                                 .to(at::kDouble);
  at::Tensor sums, counts = at::zeros({extent[0], extent[1], extent[2]}, at::kDouble);
  const auto part = [](at::Tensor of, const GridBox& box) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      of = of.narrow(of.dim() - 3 + static_cast<std::int64_t>(axis), box.begin[axis],
                     box.end[axis] - box.begin[axis]);
    return of;
  };
  for (std::int64_t i = grid.size() - 1; i >= 0; --i) {
    const at::Tensor scores = network(part(volume, grid[i]).unsqueeze(0))[0].to(at::kDouble);
    if (!sums.defined())
      sums = at::zeros({scores.size(0), extent[0], extent[1], extent[2]}, at::kDouble);
    part(sums, grid[i]).add_(scores * weights);
    part(counts, grid[i]).add_(weights);
  }
  return (sums / counts).to(at::kFloat);
}

SlidingWindowOptions small_windows() {
  return {.windows = {.patch = {4, 6, 8}}};
}

}  // namespace

TEST_CASE("scores are the weighted mean of all windows, in whatever order they are added") {
  const at::Tensor volume = volume_of({2, 9, 14, 19});
  for (const WindowNetwork& network : {WindowNetwork(by_voxel), WindowNetwork(convolved)}) {
    const at::Tensor scores = sliding_window(network, volume, small_windows());
    CHECK(scores.sizes() == at::IntArrayRef({2, 9, 14, 19}));
    CHECK(apart(scores, defined(network, volume, small_windows())) < 1e-5);
  }
  CHECK(apart(sliding_window(by_voxel, volume, small_windows()), by_voxel(volume.unsqueeze(0))[0]) <
        1e-5);
  SlidingWindowOptions flat = small_windows();
  flat.weights.sigma = 0;
  const at::Tensor even = sliding_window(places, volume, flat);
  CHECK(apart(even, defined(places, volume, flat)) < 1e-5);
  CHECK(apart(even, sliding_window(places, volume, small_windows())) > 1e-2);
}

TEST_CASE("scores are the same bits whatever the batch") {
  const at::Tensor volume = volume_of({1, 9, 14, 19});
  SlidingWindowOptions options = small_windows();
  options.batch = 1;
  const at::Tensor alone = sliding_window(places, volume, options);
  for (const std::int64_t batch : {2, 5, 7, 1000}) {
    options.batch = batch;
    CHECK(at::equal(sliding_window(places, volume, options), alone));
  }
}

TEST_CASE("a network that always says the same says it everywhere") {
  const auto constant = [](const at::Tensor& windows) {
    return at::full({windows.size(0), 3, 4, 6, 8}, 0.7F);
  };
  const std::vector<std::vector<std::int64_t>> shapes{{1, 9, 14, 19}, {1, 4, 6, 8}, {1, 2, 9, 3}};
  for (const std::vector<std::int64_t>& shape : shapes) {
    const at::Tensor scores = sliding_window(constant, at::zeros(shape), small_windows());
    CHECK(scores.sizes() == at::IntArrayRef({3, shape[1], shape[2], shape[3]}));
    CHECK(apart(scores, at::full({1}, 0.7F)) < 1e-6);
  }
}

TEST_CASE("a patch that covers the volume is one pass over it, filled up where it is larger") {
  const at::Tensor volume = volume_of({1, 4, 6, 8});
  CHECK(apart(sliding_window(convolved, volume, small_windows()),
              convolved(volume.unsqueeze(0))[0]) < 1e-5);
  const at::Tensor part = volume.narrow(1, 0, 3).narrow(3, 0, 5);
  SlidingWindowOptions options = small_windows();
  options.outside = -3;
  at::Tensor filled = at::full({1, 1, 4, 6, 8}, -3.0F);
  filled[0].narrow(3, 1, 5).narrow(1, 0, 3).copy_(part);  // 0 of 1 and 1 of 3 before
  const at::Tensor expected = convolved(filled)[0].narrow(3, 1, 5).narrow(1, 0, 3);
  CHECK(apart(sliding_window(convolved, part, options), expected) < 1e-5);
}

TEST_CASE("mirrored windows are a mean over all mirrorings") {
  const at::Tensor volume = volume_of({1, 4, 6, 8});
  SlidingWindowOptions options = small_windows();
  options.mirror = {0, 2};
  at::Tensor mean = at::zeros({2, 4, 6, 8});
  for (const std::vector<std::int64_t>& axes :
       std::vector<std::vector<std::int64_t>>{{}, {2}, {4}, {2, 4}})
    mean += at::flip(convolved(at::flip(volume.unsqueeze(0), axes)), axes)[0] / 4;
  CHECK(apart(sliding_window(convolved, volume, options), mean) < 1e-5);
  CHECK(apart(sliding_window(convolved, volume, small_windows()), mean) > 1e-2);
  const auto same = [](const at::Tensor& windows) { return windows; };  // its very input
  CHECK(apart(sliding_window(same, volume, options), volume) < 1e-6);
}

TEST_CASE("windows that are background alone are passed over") {
  at::Tensor volume = at::zeros({1, 4, 6, 40});
  volume.narrow(3, 30, 4).fill_(5);
  std::int64_t seen = 0, told = 0;
  const auto counted = [&](const at::Tensor& windows) {
    seen += windows.size(0);
    return by_voxel(windows);
  };
  SlidingWindowOptions options = small_windows();
  options.on_windows = [&](std::int64_t done, std::int64_t all) {
    CHECK(all == 9);
    told = done;
  };
  options.skip = SkipWindows{.background = 0, .scores = {9, -9}};
  const at::Tensor scores = sliding_window(counted, volume, options);
  CHECK(seen == 3);  // from 24, 28 and 32 on
  CHECK(told == 9);
  CHECK(apart(scores[0].narrow(2, 0, 24), at::full({1}, 9.0F)) == 0.0);
  CHECK(apart(scores[1].narrow(2, 0, 24), at::full({1}, -9.0F)) == 0.0);
  CHECK(apart(scores[0].narrow(2, 30, 4), at::full({1}, 11.0F)) < 1e-5);
  CHECK(apart(sliding_window(by_voxel, at::zeros({1, 4, 6, 8}), options)[0], at::full({1}, 9.0F)) ==
        0.0);
  options.skip->scores = {1, 2, 3};
  CHECK_THROWS_WITH_AS(sliding_window(by_voxel, volume, options),
                       doctest::Contains("a score for each of 2 classes, got 3"), ConfigError);
}

TEST_CASE("windows may be read one by one, of any type") {
  const at::Tensor volume = volume_of({1, 9, 14, 19}).mul(100).to(at::kShort);
  std::vector<GridBox> asked;
  const ReadWindow read = [&](const GridBox& box) {
    asked.push_back(box);
    return volume.narrow(1, box.begin[0], 4).narrow(2, box.begin[1], 6).narrow(3, box.begin[2], 8);
  };
  const at::Tensor scores = sliding_window(by_voxel, read, {9, 14, 19}, small_windows());
  CHECK(asked.size() ==
        static_cast<std::size_t>(WindowGrid({9, 14, 19}, small_windows().windows).size()));
  CHECK(at::equal(scores, sliding_window(by_voxel, volume.to(at::kFloat), small_windows())));
  const auto half = [](const at::Tensor& windows) { return by_voxel(windows).to(at::kHalf); };
  const at::Tensor halves = sliding_window(half, volume, small_windows());
  CHECK((halves.scalar_type() == at::kFloat));
}

TEST_CASE("memory is known before and kept") {
  count_tensor_memory();
  const at::Tensor volume = volume_of({1, 20, 40, 50});
  const auto twice = [](const at::Tensor& windows) { return windows * 2; };
  for (const bool mirrored : {false, true}) {
    SlidingWindowOptions options{.windows = {.patch = {16, 24, 32}}, .batch = 4};
    if (mirrored) options.mirror = {0, 1, 2};
    const SlidingWindowBytes bytes = sliding_window_bytes({20, 40, 50}, 1, 1, options);
    CHECK(bytes.sums == 2 * 20 * 40 * 50 * 4);
    CHECK(bytes.device == 0);
    CHECK(bytes.sums_on_host);
    const auto before = tensor_memory(at::kCPU).allocated;
    reset_peak_tensor_memory(at::kCPU);
    sliding_window(twice, volume, options);
    const auto taken = tensor_memory(at::kCPU).peak - before;
    CHECK(taken <= bytes.host);
    CHECK(2 * taken > bytes.host);
  }
  SlidingWindowOptions device = small_windows();
  device.device = at::Device(at::kCUDA, 0);
  const SlidingWindowBytes there = sliding_window_bytes({20, 40, 50}, 1, 1, device);
  CHECK(there.device > there.sums);
  device.most_device_bytes = there.sums - 1;
  const SlidingWindowBytes here = sliding_window_bytes({20, 40, 50}, 1, 1, device);
  CHECK(here.sums_on_host);
  CHECK(here.device < there.sums);
  CHECK(here.host > here.sums);
}

TEST_CASE("a device gives the host's scores, wherever sums are kept") {
  if (!test::open_torch_gpu()) return test::skip("needs a GPU");
  const at::Tensor volume = volume_of({1, 9, 14, 19});
  const at::Tensor expected = sliding_window(by_voxel, volume, small_windows());
  SlidingWindowOptions options = small_windows();
  options.device = at::Device(at::kCUDA, 0);
  const at::Tensor on_device = sliding_window(by_voxel, volume, options);
  CHECK(on_device.is_cuda());
  CHECK(apart(on_device.cpu(), expected) < 1e-5);
  options.most_device_bytes = 0;
  const at::Tensor on_host = sliding_window(by_voxel, volume, options);
  CHECK(on_host.is_cpu());
  CHECK(apart(on_host, expected) < 1e-5);
}

TEST_CASE("a sliding window refuses what cannot be right") {
  const at::Tensor volume = at::zeros({1, 9, 14, 19});
  const auto refused = [&](const SlidingWindowOptions& options, const char* what) {
    CHECK_THROWS_WITH_AS(sliding_window(by_voxel, volume, options), doctest::Contains(what),
                         ConfigError);
  };
  SlidingWindowOptions options = small_windows();
  options.batch = 0;
  refused(options, "[sliding window] batch must be positive, got 0");
  options = small_windows();
  options.mirror = {2, 2};
  refused(options, "axes 0 to 2, each once, got [2, 2]");
  options = small_windows();
  options.skip = SkipWindows{};
  refused(options, "one for each class, got none");
  options = small_windows();
  options.windows.patch = {};
  refused(options, "[windows] extent and patch");
  CHECK_THROWS_AS(sliding_window(by_voxel, volume[0], small_windows()), ConfigError);
  const auto shrinks = [](const at::Tensor& windows) { return windows.narrow(4, 0, 4); };
  CHECK_THROWS_WITH_AS(sliding_window(shrinks, volume, small_windows()),
                       doctest::Contains("[2, classes, 4, 6, 8], got [2, 1, 4, 6, 4]"),
                       ConfigError);
  const ReadWindow wrong = [](const GridBox&) { return at::zeros({1, 4, 6, 7}); };
  CHECK_THROWS_WITH_AS(sliding_window(by_voxel, wrong, {9, 14, 19}, small_windows()),
                       doctest::Contains("windows must be [1, 4, 6, 8], got [1, 4, 6, 7]"),
                       ConfigError);
}
