#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cubical_persistence.h>
#include <headrace/tests/models/hashed_fill.h>
#include <headrace/tests/models/topology_shapes.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/Functions.h>

using namespace headrace::models;
using namespace headrace::test;

namespace {

struct ReferencePair {
  std::int64_t dimension;
  std::int64_t birth;
  std::int64_t death;
};

// Voxels are integers below `levels`, over `levels`.
struct PersistenceReference {
  std::vector<std::int64_t> shape;
  std::int64_t levels;
  std::int64_t essential;
  std::vector<ReferencePair> pairs;
};

const std::vector<PersistenceReference>& persistence_references() {
  static const std::vector<PersistenceReference> all = {
#include "reference/persistence_values.inc"
  };
  return all;
}

at::Tensor volume_of(std::size_t number, const PersistenceReference& reference) {
  const auto levels = static_cast<double>(reference.levels);
  const at::Tensor u =
      hashed_fill("persistence " + std::to_string(number), reference.shape, .5, .5);
  return ((u * levels).floor() / levels).to(at::kFloat);
}

using Level = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

std::vector<Level> levels_of(const CubicalPersistence& found, std::int64_t levels) {
  const auto level = [&](float value) {
    return std::lround(static_cast<double>(value) * static_cast<double>(levels));
  };
  std::vector<Level> all;
  for (std::size_t k = 0; k < 3; ++k)
    for (const PersistentPair& pair : found.pairs.at(k))
      all.emplace_back(k, level(pair.birth), level(pair.death));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

TEST_CASE("persistent pairs are those of a peer and of a reduced boundary matrix") {
  REQUIRE(persistence_references().size() == 9);
  for (std::size_t number = 0; number < persistence_references().size(); ++number) {
    CAPTURE(number);
    const PersistenceReference& reference = persistence_references()[number];
    const CubicalPersistence found = persistence_of(volume_of(number, reference));
    std::vector<Level> expected;
    for (const ReferencePair& pair : reference.pairs)
      expected.emplace_back(pair.dimension, pair.birth, pair.death);
    CHECK((levels_of(found, reference.levels) == expected));
    CHECK(std::lround(static_cast<double>(found.essential_birth) *
                      static_cast<double>(reference.levels)) == reference.essential);
  }
}

TEST_CASE("creators and destroyers have the values of births and deaths; long pairs come first") {
  for (std::size_t number = 0; number < persistence_references().size(); ++number) {
    CAPTURE(number);
    const at::Tensor volume = volume_of(number, persistence_references()[number]);
    const float* values = volume.const_data_ptr<float>();
    const CubicalPersistence found = persistence_of(volume);
    CHECK(values[found.essential_creator] == found.essential_birth);
    for (const std::vector<PersistentPair>& pairs : found.pairs) {
      float before = std::numeric_limits<float>::infinity();
      for (const PersistentPair& pair : pairs) {
        CHECK(values[pair.creator] == pair.birth);
        CHECK(values[pair.destroyer] == pair.death);
        CHECK(pair.death > pair.birth);
        CHECK(pair.death - pair.birth <= before);
        before = pair.death - pair.birth;
      }
    }
  }
}

TEST_CASE("a plateau is one component, of one of its voxels, and always of the same") {
  at::Tensor square = at::ones({1, 5, 5});
  square[0].narrow(0, 1, 3).narrow(1, 1, 3).zero_();
  const CubicalPersistence first = persistence_of(square);
  CHECK(first.pairs[0].empty());
  CHECK(first.essential_birth == 0.0f);
  CHECK(square.view(-1)[first.essential_creator].item<float>() == 0.0f);
  at::Tensor two = at::ones({1, 5, 5});
  two[0][0][0] = 0;
  two[0][4][4] = 0;
  const CubicalPersistence apart = persistence_of(two);
  REQUIRE(apart.pairs[0].size() == 1);
  CHECK(apart.pairs[0][0].creator + apart.essential_creator == 24);
  for (int again = 0; again < 3; ++again) {
    CHECK(persistence_of(square).essential_creator == first.essential_creator);
    CHECK(persistence_of(two).pairs[0][0].destroyer == apart.pairs[0][0].destroyer);
  }
}

TEST_CASE("Betti numbers of shapes that everybody knows") {
  const std::vector<std::int64_t> shape{7, 8, 9};
  CHECK(betti_of(nothing(shape)) == Betti{0, 0, 0});
  CHECK(betti_of(nothing(shape).logical_not()) == Betti{1, 0, 0});
  at::Tensor hollow = box(shape);
  CHECK(betti_of(hollow) == Betti{1, 0, 0});
  hollow[3][4][4] = false;
  CHECK(betti_of(hollow) == Betti{1, 0, 1});
  hollow[2][4][4] = false;
  hollow[1][4][4] = false;
  CHECK(betti_of(hollow) == Betti{1, 0, 0});
  hollow.select(1, 4).select(1, 4).fill_(false);
  CHECK(betti_of(hollow) == Betti{1, 1, 0});
  at::Tensor ring = nothing({1, 5, 5});
  ring[0].narrow(0, 1, 3).narrow(1, 1, 3).fill_(true);
  ring[0][2][2] = false;
  CHECK(betti_of(ring) == Betti{1, 1, 0});
  CHECK(betti_of(ring.view({5, 1, 5})) == Betti{1, 1, 0});
  at::Tensor pierced = sheet(shape);
  CHECK(betti_of(pierced) == Betti{1, 0, 0});
  pierced.select(1, 4).select(1, 4).fill_(false);
  CHECK(betti_of(pierced) == Betti{1, 1, 0});
}

TEST_CASE("a tube that is closed to a ring has two tunnels and a cavity") {
  const at::Tensor place = (at::arange(7, at::kLong) - 3).abs();
  const at::Tensor around = at::maximum(place.view({7, 1}), place.view({1, 7}));
  at::Tensor tube = (around > 0).expand({3, 7, 7}).contiguous();
  CHECK(betti_of(tube) == Betti{1, 1, 0});
  tube[1] = tube[1] & (around != 2);
  CHECK(betti_of(tube) == Betti{1, 2, 1});
}

TEST_CASE("the foreground has 26 neighbours, the background 6") {
  at::Tensor two = nothing({4, 4, 4});
  two[1][1][1] = true;
  for (const auto& [other, components] :
       std::vector<std::pair<std::array<std::int64_t, 3>, std::int64_t>>{
           {{1, 1, 2}, 1}, {{1, 2, 2}, 1}, {{2, 2, 2}, 1}, {{1, 1, 3}, 2}, {{3, 2, 2}, 2}}) {
    at::Tensor both = two.clone();
    both[other[0]][other[1]][other[2]] = true;
    CHECK(betti_of(both) == Betti{components, 0, 0});
  }
  at::Tensor cell = at::ones({3, 3, 3}, at::kBool);
  cell[1][1][1] = false;
  cell[0][0][1] = false;  // shares an edge with the cavity
  CHECK(betti_of(cell) == Betti{1, 0, 1});
  cell[0][1][1] = false;
  CHECK(betti_of(cell) == Betti{1, 0, 0});
}

TEST_CASE("volumes that are none, or hold what is not finite, are refused") {
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  CHECK_THROWS_WITH_AS(cubical_persistence(six, {1, 2, 4}),
                       "[cubical_persistence] a value for each of 8 voxels is needed, got 6",
                       headrace::ConfigError);
  CHECK_THROWS_WITH_AS(
      cubical_persistence(six, {6, 0, 1}),
      "[cubical_persistence] a volume has at least a voxel on each axis, and fewer than 2^31 in "
      "all, got [6, 0, 1]",
      headrace::ConfigError);
  CHECK_THROWS_AS(cubical_persistence(six, {1 << 16, 1 << 16, 1 << 16}), headrace::ConfigError);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> spoilt = six;
    spoilt[4] = bad;
    CHECK_THROWS_WITH_AS(
        cubical_persistence(spoilt, {1, 2, 3}),
        ("[cubical_persistence] values must be finite, got " + std::to_string(bad) + " at voxel 4")
            .c_str(),
        headrace::DataError);
  }
}
