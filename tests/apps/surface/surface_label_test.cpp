#include <headrace/apps/jobs/surface/surface_volumes.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using app::SurfaceVoxels;

SurfaceVoxels box(std::int64_t begin, std::int64_t end) {
  SurfaceVoxels made{{9, 10, 11}, std::vector<std::uint8_t>(9 * 10 * 11)};
  for (std::int64_t z = begin; z < end; ++z)
    for (std::int64_t y = begin; y < end; ++y)
      for (std::int64_t x = begin; x < end; ++x)
        made.voxels[made.at(z, y, x)] = 1;
  return made;
}

std::int64_t count(const SurfaceVoxels& mask, int label = 1) {
  return std::count(mask.voxels.begin(), mask.voxels.end(), label);
}

}  // namespace

TEST_CASE("the inner boundary of a box is its outermost voxels, at the volume's border, too") {
  CHECK(count(app::inner_boundary(box(2, 7))) == 5 * 5 * 5 - 3 * 3 * 3);
  CHECK(count(app::inner_boundary(box(0, 9))) == 9 * 9 * 9 - 7 * 7 * 7);
  CHECK(count(app::inner_boundary(box(4, 4))) == 0);
}

TEST_CASE("a mask grows by the six neighbours, and by no more") {
  const SurfaceVoxels one = app::grown(box(4, 5));
  CHECK(count(one) == 7);
  CHECK(one.voxels[one.at(4, 4, 3)] == 1);
  CHECK(one.voxels[one.at(3, 4, 3)] == 0);
  CHECK(count(app::grown(box(2, 7))) == 5 * 5 * 5 + 6 * 5 * 5);
  CHECK(count(app::grown(box(0, 1))) == 4);
}

TEST_CASE("whole blocks are ignored, as many as asked for, the same for the same seed") {
  const std::array<std::int64_t, 3> extent{100, 120, 140};
  const SurfaceVoxels plain{extent, std::vector<std::uint8_t>(100 * 120 * 140, 1)};
  const auto ignored = [&](double share, std::uint64_t seed) {
    SurfaceVoxels labels = plain;
    app::ignore_blocks(labels, {.label = 2, .share = share, .seed = seed});
    return labels;
  };
  const SurfaceVoxels some = ignored(0.2, 7);
  std::map<std::int64_t, int> blocks;
  for (std::int64_t z = 0; z < 100; ++z)
    for (std::int64_t y = 0; y < 120; ++y)
      for (std::int64_t x = 0; x < 140; ++x) {
        const int label = some.voxels[some.at(z, y, x)];
        const auto [block, is_new] = blocks.emplace(z / 16 * 10000 + y / 16 * 100 + x / 16, label);
        REQUIRE(block->second == label);
      }
  const auto twos = std::count_if(blocks.begin(), blocks.end(),
                                  [](const auto& block) { return block.second == 2; });
  CHECK(blocks.size() == 7 * 8 * 9);
  CHECK(twos > 504 * 0.14);  // 0.2 less three deviations
  CHECK(twos < 504 * 0.26);
  CHECK(ignored(0.2, 7).voxels == some.voxels);
  CHECK(ignored(0.2, 8).voxels != some.voxels);
  CHECK(ignored(0.0, 7).voxels == plain.voxels);
}

}  // namespace headrace::test
