#include <headrace/augment/volume/betti.h>
#include <headrace/engine/base/error.h>
#include <headrace/models/metrics/critical_cells.h>
#include <headrace/models/metrics/topology_score.h>
#include <headrace/tests/models/chains.h>
#include <headrace/tests/models/surface_cases.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

using namespace headrace::models;
using doctest::Approx;
using headrace::betti_numbers;
using headrace::BettiNumbers;
using headrace::DataError;
using headrace::GridExtent;
using headrace::Neighbours;
using headrace::VoxelBits;
using headrace::voxels_of;
using headrace::test::Body;
using headrace::test::Chains;
using headrace::test::Mask;

namespace {

constexpr GridExtent twenty{20, 20, 20};  // an octant has 10 x 10 x 10

Mask random_mask(const GridExtent& extent, unsigned percent, unsigned& state) {
  Mask mask;
  for (std::int64_t i = 0; i < voxels_of(extent); ++i) {
    state = state * 1664525U + 1013904223U;
    mask.push_back((state >> 8) % 100 < percent ? 1 : 0);
  }
  return mask;
}

Mask united(Mask a, const Mask& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] |= b[i];
  return a;
}

BettiNumbers betti(const Mask& mask, const GridExtent& extent) {
  return betti_numbers(mask, extent, Neighbours::faces);
}

VoxelBits bits_of(const Mask& mask, const GridExtent& extent) {
  VoxelBits bits;
  bits.mark(mask, extent);
  return bits;
}

/// The tunnels that surely stay, of those that are there.
std::int64_t surely_kept(const Mask& inner, const Mask& outer, const GridExtent& extent) {
  const CriticalCells cells = critical_cells(bits_of(inner, extent), bits_of(outer, extent));
  const BettiNumbers from = betti(inner, extent);
  const BettiNumbers to = betti(outer, extent);
  const std::int64_t joined = from.components + cells.count[0] - to.components;
  const std::int64_t made = to.cavities - from.cavities + cells.count[3];
  const std::int64_t filled = cells.count[2] - made;
  REQUIRE(joined >= 0);
  REQUIRE(made >= 0);
  REQUIRE(filled >= 0);
  REQUIRE(to.tunnels == from.tunnels + cells.count[1] - joined - filled);
  return std::max<std::int64_t>(0, from.tunnels - filled);
}

/// The mask in the first octant of a volume.
Mask in_octant(const Mask& mask, const GridExtent& extent) {
  Mask wide(mask.size() * 8);
  for (std::int64_t z = 0; z < extent[0]; ++z)
    for (std::int64_t y = 0; y < extent[1]; ++y)
      for (std::int64_t x = 0; x < extent[2]; ++x)
        wide[static_cast<std::size_t>((z * 2 * extent[1] + y) * 2 * extent[2] + x)] =
            mask[static_cast<std::size_t>((z * extent[1] + y) * extent[2] + x)];
  return wide;
}

void check_exact(const TopologyScore& score, double value) {
  CHECK(score.value == Approx(value).epsilon(1e-12));
  CHECK(score.least == score.value);
  CHECK(score.most == score.value);
}

}  // namespace

TEST_CASE("a bridge between two boxes costs their being two") {
  Body boxes(twenty);
  boxes.fill({1, 1, 1}, {3, 3, 3}).fill({1, 1, 6}, {3, 3, 8});
  const Mask truth = boxes.voxels();
  const Mask bridged = boxes.fill({2, 2, 4}, {2, 2, 5}).voxels();
  const TopologyScore score = topology_score({bridged, truth, twenty});
  CHECK(score.dimensions[0].prediction == 0);
  CHECK(score.dimensions[0].truth == 1);
  CHECK(score.dimensions[0].matched == 0);
  check_exact(score, 0);
  check_exact(topology_score({truth, truth, twenty}), 1);
}

TEST_CASE("a cavity that is not there costs what the score says") {
  Body box(twenty);
  box.fill({1, 1, 1}, {6, 6, 6});
  const Mask solid = box.voxels();
  const Mask hollow = box.fill({3, 3, 3}, {4, 4, 4}, 0).voxels();
  const TopologyScore score = topology_score({hollow, solid, twenty});
  CHECK(score.dimensions[2].prediction == 1);
  CHECK(score.dimensions[2].truth == 0);
  check_exact(score, 1. / 3);
  check_exact(topology_score({solid, hollow, twenty}), 0);
  check_exact(topology_score({hollow, hollow, twenty}), 1);
}

TEST_CASE("rings match where they are one ring, and not where the union fills them") {
  Body ring(twenty);
  ring.fill({2, 1, 1}, {2, 7, 7}).fill({2, 3, 3}, {2, 5, 5}, 0);
  const Mask thin = ring.voxels();
  const Mask thick = Body(ring).fill({3, 1, 1}, {3, 7, 7}).fill({3, 3, 3}, {3, 5, 5}, 0).voxels();
  const TopologyScore same = topology_score({thin, thick, twenty});
  CHECK(same.dimensions[1].matched_least == 1);
  check_exact(same, 1);
  const Mask disc = Body(twenty).fill({2, 1, 1}, {2, 7, 7}).voxels();
  // A ring elsewhere and a disc in this one: nothing is matched, though the counts are alike.
  const Mask other = Body(twenty)
                         .fill({2, 3, 3}, {2, 5, 5})
                         .fill({6, 1, 1}, {6, 7, 7})
                         .fill({6, 3, 3}, {6, 5, 5}, 0)
                         .voxels();
  const TopologyScore apart = topology_score({thin, other, twenty});
  CHECK(apart.dimensions[1].matched_least == 0);
  CHECK(topology_score({thin, disc, twenty}).dimensions[1].matched == 0);
}

TEST_CASE("a cavity that is filled costs no tunnel elsewhere") {
  Body body(twenty);
  body.fill({0, 0, 0}, {4, 4, 4}).fill({6, 1, 1}, {6, 7, 7}).fill({6, 3, 3}, {6, 5, 5}, 0);
  const Mask solid = body.voxels();
  const Mask hollow = body.fill({2, 2, 2}, {2, 2, 2}, 0).voxels();
  const TopologyScore score = topology_score({hollow, solid, twenty});
  CHECK(score.dimensions[1].matched_least == 1);
  CHECK(score.dimensions[1].matched_most == 1);
}

TEST_CASE("octants count by themselves, the first of an odd side has one voxel more") {
  const GridExtent line{1, 1, 5};
  const Mask first{1, 0, 1, 0, 0};
  CHECK(topology_score({first, first, line}).dimensions[0].truth == 1);
  const Mask last{0, 0, 1, 0, 1};
  CHECK(topology_score({last, last, line}).dimensions[0].truth == 0);
  check_exact(topology_score({last, last, line}), 1);
  const Mask ends{1, 0, 1, 0, 1, 0, 1, 1};
  const TopologyScore sum = topology_score({ends, Mask{1, 0, 0, 1, 1, 0, 1, 0}, {1, 1, 8}});
  CHECK(sum.dimensions[0].prediction == 2);
  CHECK(sum.dimensions[0].truth == 2);
  CHECK(sum.dimensions[0].matched == 2);
}

TEST_CASE("F1 of a dimension follows its rule") {
  CHECK(TopologyCounts{.prediction = 3, .truth = 1}.f1(1) == .5);
  CHECK(TopologyCounts{.prediction = 2, .truth = 0}.f1(0) == Approx(.2));
  CHECK(TopologyCounts{}.f1(0) == 1);
  CHECK_FALSE(TopologyCounts{}.is_active());
}

TEST_CASE(
    "voxels that grow a volume change its holes as their cells say, and tunnels stay as chains "
    "find") {
  const GridExtent extent{4, 5, 4};
  const Chains chains(extent);
  unsigned state = 9;
  std::int64_t exact = 0;
  std::int64_t volumes = 0;
  for (int round = 0; round < 150; ++round) {
    const unsigned percent = 20 + static_cast<unsigned>(round) % 60;
    const Mask inner = random_mask(extent, percent, state);
    const Mask outer = united(inner, random_mask(extent, 5 + percent / 3, state));
    const std::int64_t least = surely_kept(inner, outer, extent);
    const std::int64_t kept = chains.kept_tunnels(inner, outer);
    REQUIRE(least <= kept);
    REQUIRE(kept <= std::min(betti(inner, extent).tunnels, betti(outer, extent).tunnels));
    exact += least == kept ? 1 : 0;
    volumes += betti(inner, extent).tunnels > 0 ? 1 : 0;
    CHECK(chains.kept_tunnels(inner, inner) == betti(inner, extent).tunnels);
  }
  CHECK(volumes > 70);
  CHECK(exact > 130);  // of 150
}

TEST_CASE("bounds of what is matched hold what is known of it") {
  const GridExtent extent{4, 5, 4};
  const GridExtent wide{8, 10, 8};
  const Chains chains(extent);
  unsigned state = 4;
  for (int round = 0; round < 60; ++round) {
    const Mask prediction = random_mask(extent, 50, state);
    Mask truth = prediction;
    const Mask other = random_mask(extent, 50, state);
    const Mask changed = random_mask(extent, 20, state);
    for (std::size_t i = 0; i < truth.size(); ++i)
      if (changed[i] != 0) truth[i] = other[i];
    const Mask both = united(prediction, truth);
    const TopologyScore score =
        topology_score({in_octant(prediction, extent), in_octant(truth, extent), wide});
    const TopologyCounts& tunnels = score.dimensions[1];
    const std::int64_t of_prediction = chains.kept_tunnels(prediction, both);
    const std::int64_t of_truth = chains.kept_tunnels(truth, both);
    CHECK(tunnels.prediction == betti(prediction, extent).tunnels);
    CHECK(tunnels.truth == betti(truth, extent).tunnels);
    CHECK(tunnels.matched_least <=
          std::max<std::int64_t>(0, of_prediction + of_truth - betti(both, extent).tunnels));
    CHECK(tunnels.matched_most >= std::min(of_prediction, of_truth));
    CHECK(tunnels.matched_least == std::clamp<std::int64_t>(surely_kept(prediction, both, extent) +
                                                                surely_kept(truth, both, extent) -
                                                                betti(both, extent).tunnels,
                                                            0, tunnels.matched_most));
    for (const TopologyCounts& counts : score.dimensions) {
      CHECK(counts.matched_least <= counts.matched);
      CHECK(counts.matched <= counts.matched_most);
      CHECK(counts.matched_most <= std::min(counts.prediction, counts.truth));
    }
    CHECK(score.least <= score.value);
    CHECK(score.value <= score.most);
  }
}

TEST_CASE("cavities are matched by place: one that parts in two is one, two in one are one") {
  Body body(twenty);
  body.fill({0, 0, 0}, {8, 8, 8}).fill({2, 2, 2}, {6, 6, 6}, 0);
  const Mask one = body.voxels();
  const Mask two = body.fill({2, 2, 4}, {6, 6, 4}).voxels();
  const TopologyScore score = topology_score({one, two, twenty});
  CHECK(score.dimensions[2].prediction == 1);
  CHECK(score.dimensions[2].truth == 2);
  CHECK(score.dimensions[2].matched_least == 1);
  CHECK(score.dimensions[2].matched_most == 1);
  const Mask elsewhere =
      Body(twenty).fill({0, 0, 0}, {8, 8, 8}).fill({7, 7, 7}, {7, 7, 7}, 0).voxels();
  CHECK(topology_score({one, elsewhere, twenty}).dimensions[2].matched_most == 0);
  // A cavity of one mask that is outside in the other is nobody's match.
  const Mask none(one.size());
  for (const MaskPair& pair : {MaskPair(one, none, twenty), MaskPair(none, two, twenty)}) {
    CHECK(topology_score(pair).dimensions[2].matched_least == 0);
    CHECK(topology_score(pair).dimensions[2].matched_most == 0);
  }
}

TEST_CASE("growing says what is simple, and refuses what shrinks") {
  const GridExtent extent{3, 3, 3};
  const Mask none(27);
  const Mask all(27, 1);
  Mask shell = all;
  shell[13] = 0;
  using Counts = std::array<std::int64_t, 4>;
  CHECK(critical_cells(bits_of(none, extent), bits_of(all, extent)).count == Counts{1, 0, 0, 0});
  CHECK(critical_cells(bits_of(none, extent), bits_of(shell, extent)).count == Counts{1, 0, 1, 0});
  CHECK(critical_cells(bits_of(shell, extent), bits_of(all, extent)).count == Counts{0, 0, 0, 1});
  CHECK_THROWS_AS(critical_cells(bits_of(all, extent), bits_of(shell, extent)), DataError);
  CHECK_THROWS_AS(critical_cells(bits_of(none, extent), VoxelBits({3, 3, 4})), DataError);
}
