#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::StoredValues;

namespace {

using Places = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("windows begin where nnU-Net's do") {
  CHECK(window_positions(110, 64, .5) == Places{0, 23, 46});
  CHECK(window_positions(320, 72, .5) == Places{0, 35, 71, 106, 142, 177, 213, 248});
  CHECK(window_positions(320, 136, .5) == Places{0, 61, 123, 184});
  CHECK(window_positions(181, 72, .5) == Places{0, 27, 54, 82, 109});
  CHECK(window_positions(217, 136, .5) == Places{0, 40, 81});  // 40.5 and so to the even one
  CHECK(window_positions(181, 136, .5) == Places{0, 45});
  CHECK(window_positions(64, 64, .5) == Places{0});
  CHECK(window_positions(128, 64, 1.0) == Places{0, 64});
}

TEST_CASE("steps in voxels are kept below, and the last window ends with the axis") {
  CHECK(window_positions_by(320, 72, 36) == window_positions(320, 72, .5));
  CHECK(window_positions_by(512, 208, 104) == Places{0, 101, 203, 304});
  for (const std::int64_t step : {1, 3, 7, 10}) {
    const Places places = window_positions_by(53, 10, step);
    CHECK(places.front() == 0);
    CHECK(places.back() == 43);
    for (std::size_t i = 1; i < places.size(); ++i)
      CHECK(places[i] - places[i - 1] <= step);
  }
}

TEST_CASE("a patch that is longer than the axis is centred on it") {
  CHECK(window_positions(60, 64, .5) == Places{-2});
  CHECK(window_positions(59, 64, .5) == Places{-2});  // the odd voxel lies behind
  const WindowGrid grid({3, 59, 130}, {.patch = {8, 64, 64}});
  CHECK(grid.size() == 4);
  CHECK(grid[0] == GridBox{{-2, -2, 0}, {6, 62, 64}});
  CHECK(grid.inside(0) == GridBox{{0, 0, 0}, {3, 59, 64}});
}

TEST_CASE("a grid counts its windows with x fastest and covers every voxel") {
  const WindowGrid grid({20, 30, 40}, {.patch = {8, 16, 16}, .step = GridExtent{4, 16, 8}});
  CHECK(grid.size() == 4 * 2 * 4);
  CHECK(grid[0] == GridBox{{0, 0, 0}, {8, 16, 16}});
  CHECK(grid[1] == GridBox{{0, 0, 8}, {8, 16, 24}});
  CHECK(grid[4] == GridBox{{0, 14, 0}, {8, 30, 16}});
  CHECK(grid[grid.size() - 1] == GridBox{{12, 14, 24}, {20, 30, 40}});
  std::vector<int> seen(20 * 30 * 40);
  for (std::int64_t i = 0; i < grid.size(); ++i) {
    const GridBox box = grid.inside(i);
    for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z)
      for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y)
        for (std::int64_t x = box.begin[2]; x < box.end[2]; ++x)
          ++seen[static_cast<std::size_t>((z * 30 + y) * 40 + x)];
  }
  CHECK(std::ranges::count(seen, 0) == 0);
  CHECK_THROWS_AS(grid[grid.size()], ConfigError);
}

TEST_CASE("weights are those of nnU-Net's compute_gaussian") {
  const auto apart = [](const char* name, const GridExtent& patch, const WindowWeights& weights) {
    return test::most_apart(gaussian_window(patch, weights),
                            StoredValues::of_predictions().floats(name));
  };
  CHECK(apart("gaussian 8 10 12", {8, 10, 12}, {}) < 1e-6);
  CHECK(apart("gaussian 7 9 5", {7, 9, 5}, {.peak = 10}) < 1e-6);
  CHECK(apart("gaussian 1 14 15", {1, 14, 15}, {.sigma = .05}) < 1e-6);
  CHECK(apart("gaussian 8 10 12", {8, 10, 12}, {.sigma = .13}) > 1e-3);
}

TEST_CASE("every voxel of a window has a weight") {
  const std::vector<float> cut = gaussian_window({1, 14, 15}, {.sigma = .05});
  const std::vector<float>& expected = StoredValues::of_predictions().floats("gaussian 1 14 15");
  CHECK(std::ranges::min(cut) / std::ranges::min(expected) == doctest::Approx(1));  // 1e-8
  const std::vector<float> narrow = gaussian_window({5, 40, 40}, {.sigma = .01});
  CHECK(std::ranges::min(narrow) > 0.0F);
  CHECK(std::ranges::max(narrow) == 1.0F);
  CHECK(gaussian_window({2, 2, 2}, {.sigma = 0, .peak = 3}) == std::vector<float>(8, 3.0F));
}

TEST_CASE("windows refuse what cannot be right") {
  CHECK_THROWS_AS(window_positions(10, 4, 0.0), ConfigError);
  CHECK_THROWS_AS(window_positions(10, 4, 1.1), ConfigError);
  CHECK_THROWS_AS(window_positions(0, 4, .5), ConfigError);
  CHECK_THROWS_AS(window_positions_by(10, 4, 5), ConfigError);
  CHECK_THROWS_WITH_AS(window_positions_by(10, 4, 0),
                       "[windows] a step must be 1 voxel to the patch's 4, got 0", ConfigError);
  CHECK_THROWS_AS(gaussian_window({0, 4, 4}), ConfigError);
  CHECK_THROWS_AS(gaussian_window({4, 4, 4}, {.sigma = -1}), ConfigError);
}
