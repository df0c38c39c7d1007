#include <headrace/augment/volume/betti.h>
#include <headrace/augment/volume/betti_targets.h>
#include <headrace/augment/volume/detail/bit_kernels.h>
#include <headrace/augment/volume/voxel_runs.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/padded_voxels.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::PaddedVoxels;

namespace {

Bytes random_voxels(const GridExtent& extent, unsigned percent, unsigned seed) {
  Bytes voxels;
  unsigned state = seed;
  for (std::int64_t i = 0; i < voxels_of(extent); ++i) {
    state = state * 1664525U + 1013904223U;
    voxels.push_back((state >> 8) % 100 < percent ? static_cast<std::uint8_t>(1 + i % 255) : 0);
  }
  return voxels;
}

BettiNumbers by_flooding(const Bytes& voxels, const GridExtent& extent, Neighbours foreground) {
  const bool corners = foreground == Neighbours::corners;
  const PaddedVoxels padded(voxels, extent);
  BettiNumbers betti;
  betti.components = padded.pieces(true, corners ? 3 : 1);
  betti.cavities = padded.pieces(false, corners ? 1 : 3) - 1;
  betti.tunnels = betti.components + betti.cavities - padded.euler(corners);
  return betti;
}

/// A box of 5 x 5 x 5 in 7 x 7 x 7, changed.
template <class Change>
Bytes box(const Change& change) {
  Bytes voxels(343, 0);
  for (int z = 1; z < 6; ++z)
    for (int y = 1; y < 6; ++y)
      for (int x = 1; x < 6; ++x)
        voxels[static_cast<std::size_t>((z * 7 + y) * 7 + x)] = change(z, y, x) ? 1 : 0;
  return voxels;
}

constexpr GridExtent seven{7, 7, 7};

}  // namespace

TEST_CASE("holes of known bodies are counted") {
  for (const Neighbours by : {Neighbours::faces, Neighbours::corners}) {
    const auto of = [&](const Bytes& voxels) { return betti_numbers(voxels, seven, by); };
    CHECK(of(Bytes(343, 0)) == BettiNumbers{0, 0, 0});
    CHECK(of(Bytes(343, 7)) == BettiNumbers{1, 0, 0});
    CHECK(of(box([](int, int, int) { return true; })) == BettiNumbers{1, 0, 0});
    CHECK(of(box([](int z, int y, int x) { return z != 3 || y != 3 || x != 3; })) ==
          BettiNumbers{1, 0, 1});
    CHECK(of(box([](int, int y, int x) { return y != 3 || x != 3; })) == BettiNumbers{1, 1, 0});
    CHECK(of(box([](int z, int y, int x) {
            return z == 3 && (y == 1 || y == 5 || x == 1 || x == 5);
          })) == BettiNumbers{1, 1, 0});
    CHECK(of(box([](int z, int y, int x) { return (z != 3) + (y != 3) + (x != 3) > 1; })) ==
          BettiNumbers{1, 5, 0});
  }
  const Bytes diagonal{1, 0, 0, 1};
  CHECK(betti_numbers(diagonal, {1, 2, 2}, Neighbours::faces) == BettiNumbers{2, 0, 0});
  CHECK(betti_numbers(diagonal, {1, 2, 2}, Neighbours::corners) == BettiNumbers{1, 0, 0});
}

TEST_CASE("what encloses by faces alone leaves a cavity only where background needs faces") {
  Bytes shell(27, 0);
  for (const std::size_t face : {4U, 10U, 12U, 14U, 16U, 22U})
    shell[face] = 1;
  CHECK(betti_numbers(shell, {3, 3, 3}, Neighbours::corners) == BettiNumbers{1, 0, 1});
  CHECK(betti_numbers(shell, {3, 3, 3}, Neighbours::faces) == BettiNumbers{6, 0, 0});
}

TEST_CASE("holes of random volumes are those that flooding and counting cells find") {
  const GridExtent extents[] = {{6, 7, 9},  {1, 1, 1},   {5, 4, 63}, {3, 5, 64},
                                {3, 4, 65}, {2, 3, 130}, {9, 1, 5},  {1, 8, 8}};
  std::int64_t tunnels = 0;
  std::int64_t cavities = 0;
  for (const GridExtent& extent : extents) {
    for (const unsigned percent : {5U, 30U, 50U, 70U, 93U}) {
      for (unsigned seed = 1; seed < 6; ++seed) {
        const Bytes voxels = random_voxels(extent, percent, seed * 77);
        for (const Neighbours by : {Neighbours::faces, Neighbours::corners}) {
          const BettiNumbers found = betti_numbers(voxels, extent, by);
          REQUIRE(found == by_flooding(voxels, extent, by));
          tunnels += found.tunnels;
          cavities += found.cavities;
        }
      }
    }
  }
  CHECK(tunnels > 1000);
  CHECK(cavities > 100);
}

TEST_CASE("every vector width marks the same bits and counts the same cells") {
  const GridExtent extent{4, 5, 151};
  const Bytes voxels = random_voxels(extent, 40, 3);
  VoxelBits bits;
  bits.mark(voxels, extent);
  const detail::RowGrid grid{bits.row(0, 0), bits.row_words(), bits.slice_words(), extent[0]};
  int target = 0;
  for (;; ++target) {
    std::vector<std::uint64_t> rows(static_cast<std::size_t>(5 * bits.row_words()));
    if (!detail::mark_slice({.voxels = voxels.data(),
                             .height = 5,
                             .width = 151,
                             .rows = rows.data(),
                             .row_words = bits.row_words()},
                            target))
      break;
    CAPTURE(target);
    REQUIRE(std::equal(rows.begin(), rows.end(), bits.row(0, 0)));
    for (const Neighbours by : {Neighbours::faces, Neighbours::corners}) {
      std::int64_t euler = 0;
      REQUIRE(detail::euler_of_runs(grid, by == Neighbours::corners, euler, target));
      REQUIRE(euler == euler_characteristic(bits, by));
    }
  }
  CHECK(target > 1);
}

TEST_CASE("bits are put back as they were, cut, joined and counted") {
  const GridExtent extent{3, 4, 150};
  const Bytes voxels = random_voxels(extent, 50, 8);
  VoxelBits bits;
  bits.mark(voxels, extent);
  Bytes back(voxels.size(), 9);
  bits.put(back);
  for (std::size_t i = 0; i < voxels.size(); ++i)
    REQUIRE(back[i] == (voxels[i] != 0));
  CHECK(bits.count() == std::ranges::count(back, 1));
  for (const GridBox& box : {GridBox{{0, 0, 0}, extent}, GridBox{{1, 1, 3}, {3, 4, 149}},
                             GridBox{{0, 2, 64}, {2, 3, 128}}, GridBox{{2, 3, 70}, {3, 4, 75}}}) {
    VoxelBits part;
    part.cut(bits, box);
    std::int64_t wrong = 0;
    std::int64_t ones = 0;
    for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z)
      for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y)
        for (std::int64_t x = box.begin[2]; x < box.end[2]; ++x) {
          ones += bits.at(z, y, x) ? 1 : 0;
          wrong +=
              part.at(z - box.begin[0], y - box.begin[1], x - box.begin[2]) != bits.at(z, y, x);
        }
    CHECK(wrong == 0);
    CHECK(part.count() == ones);
  }
  VoxelBits twos;
  twos.mark(voxels, extent, 2);  // all but those of value 2
  VoxelBits both = bits;
  both &= twos;
  CHECK(both.count() == bits.count() - std::ranges::count(voxels, 2));
  both |= bits;
  CHECK(both.count() == bits.count());
}

TEST_CASE("counting refuses what cannot be right") {
  const Bytes six(6);
  CHECK_THROWS_WITH_AS(betti_numbers(six, {1, 2, 4}, Neighbours::faces),
                       "[voxel bits] extent says 8 voxels, got 6", ConfigError);
  CHECK_THROWS_AS(betti_numbers(six, {1, 2, 3}, Neighbours::edges), ConfigError);
  CHECK_THROWS_AS(betti_numbers(six, {1, -2, -3}, Neighbours::faces), ConfigError);
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(betti_numbers(six, {most, most, most}, Neighbours::faces), ConfigError);
  CHECK(betti_numbers(Bytes{}, {0, 3, 4}, Neighbours::corners) == BettiNumbers{});
  VoxelBits bits({2, 3, 4});
  VoxelBits part;
  CHECK_THROWS_AS(part.cut(bits, {{0, 0, 1}, {2, 3, 5}}), ConfigError);
  CHECK_THROWS_AS(part.cut(bits, {{0, -1, 1}, {2, 3, 4}}), ConfigError);
  CHECK_THROWS_AS(part |= bits, ConfigError);
  CHECK_THROWS_AS(VoxelRuns().find_objects(bits, Neighbours::edges), ConfigError);
}

TEST_CASE("8 threads at once count what one counts") {
  const GridExtent extent{20, 30, 70};
  std::array<BettiNumbers, 32> found;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned i = t; i < found.size(); i += 8)
          found[i] =
              betti_numbers(random_voxels(extent, 2 + 3 * i, i), extent, Neighbours::corners);
      });
    }
  }
  for (unsigned i = 0; i < found.size(); ++i)
    CHECK(found[i] ==
          betti_numbers(random_voxels(extent, 2 + 3 * i, i), extent, Neighbours::corners));
}

TEST_CASE("targets are the Betti numbers of the middle of the label") {
  CHECK(centre_box({72, 136, 47}, 48) == GridBox{{12, 44, 0}, {60, 92, 47}});
  CHECK(centre_box({7, 8, 9}, 4) == GridBox{{1, 2, 2}, {5, 6, 6}});
  const Shape shape{1, 9, 12, 13};
  const Bytes voxels = random_voxels({9, 12, 13}, 50, 5);
  std::vector<std::int16_t> labels;  // 0, 1, and 2 to be ignored
  for (const std::uint8_t voxel : voxels)
    labels.push_back(static_cast<std::int16_t>(voxel == 0 ? 0 : 1 + voxel % 2));
  const BettiTargets op{.side = 6, .ignore = 2};
  const GridBox box = centre_box({9, 12, 13}, 6);
  Bytes part;
  for (std::int64_t z = box.begin[0]; z < box.end[0]; ++z)
    for (std::int64_t y = box.begin[1]; y < box.end[1]; ++y)
      for (std::int64_t x = box.begin[2]; x < box.end[2]; ++x)
        part.push_back(labels[static_cast<std::size_t>((z * 12 + y) * 13 + x)] == 1);
  const BettiNumbers expected = by_flooding(part, {6, 6, 6}, Neighbours::corners);
  Sample sample = test::sample_with("label", labels, shape);
  op(sample);
  CHECK(sample["betti"].shape() == Shape{3});
  CHECK(test::values_of<std::int32_t>(sample, "betti") ==
        std::vector<std::int32_t>{static_cast<std::int32_t>(expected.components),
                                  static_cast<std::int32_t>(expected.tunnels),
                                  static_cast<std::int32_t>(expected.cavities)});
  CHECK(expected.tunnels > 0);
  BettiTargets{.side = 6, .labels = {1}}(sample);
  CHECK(test::values_of<std::int32_t>(sample, "betti")[1] == expected.tunnels);
}

TEST_CASE("targets say their field and memory, and refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("label", DType::uint8, Shape{72, 136, 136}),
                  FieldSpec::fixed("image", DType::float32, Shape{1, 4, 5, 6})};
  CHECK(BettiTargets{}.schema(in).at("betti") == FieldSpec::fixed("betti", DType::int32, Shape{3}));
  CHECK(BettiTargets{}.working_bytes(in) == 48 * 48 * 48 + betti_bytes({48, 48, 48}));
  CHECK_THROWS_AS(BettiTargets{.side = 0}.schema(in), ConfigError);
  CHECK_THROWS_AS(BettiTargets{.side = 1025}.schema(in), ConfigError);
  CHECK_THROWS_AS(BettiTargets{.field = "image"}.schema(in), ConfigError);
  CHECK_THROWS_AS(BettiTargets{.to = "label"}.schema(in), ConfigError);
  Sample floats = test::sample_with("label", test::Floats{1}, Shape{1, 1, 1});
  CHECK_THROWS_AS(BettiTargets{}(floats), DataError);
}
