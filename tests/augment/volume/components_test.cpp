#include <headrace/augment/volume/components.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::StoredValues;

namespace {

constexpr GridExtent grid_extent{8, 10, 12};

struct Touching {
  const char* name;
  Neighbours neighbours;
};
const Touching all_touching[] = {
    {"faces", Neighbours::faces}, {"edges", Neighbours::edges}, {"corners", Neighbours::corners}};

const Bytes& stored(const std::string& name) {
  return StoredValues::of_predictions().bytes(name);
}

Bytes numbers_of(const Bytes& labels, const ComponentRule& rule) {
  std::vector<std::int32_t> numbers(labels.size(), -1);
  const std::int32_t count = label_components(labels, grid_extent, rule, numbers);
  CHECK(count == std::ranges::max(numbers));
  return {numbers.begin(), numbers.end()};
}

template <class Label>
std::vector<Label> cleaned(std::vector<Label> labels, const ComponentFilter& filter) {
  remove_components(labels, grid_extent, filter);
  return labels;
}

}  // namespace

TEST_CASE("components are SciPy's, and scikit-image's where labels part them, numbers and all") {
  const Bytes& crumbs = stored("crumbs");
  for (const auto& [name, neighbours] : all_touching) {
    CAPTURE(name);
    CHECK(numbers_of(crumbs, {neighbours, false}) == stored(std::string("together ") + name));
    CHECK(numbers_of(crumbs, {neighbours, true}) == stored(std::string("by label ") + name));
  }
  CHECK(stored("by label faces") != stored("by label edges"));
  CHECK(stored("by label edges") != stored("by label corners"));
}

TEST_CASE("small components go, or all but the largest, of each label by itself") {
  const Bytes& crumbs = stored("crumbs");
  for (const auto& [name, neighbours] : all_touching) {
    CAPTURE(name);
    CHECK(cleaned(crumbs, {.least = 4, .neighbours = neighbours}) ==
          stored(std::string("small ") + name));
    CHECK(cleaned(crumbs, {.keep_largest = true, .neighbours = neighbours}) ==
          stored(std::string("largest ") + name));
  }
}

TEST_CASE("labels of 16 bits are cleaned as those of 8, and labels that are not asked for stay") {
  const Bytes& crumbs = stored("crumbs");
  const std::vector<std::int16_t> wide(crumbs.begin(), crumbs.end());
  const ComponentFilter filter{.least = 5, .labels = {2}, .neighbours = Neighbours::faces};
  const Bytes narrow = cleaned(crumbs, filter);
  const std::vector<std::int16_t> cleaned_wide = cleaned(wide, filter);
  CHECK(std::ranges::equal(narrow, cleaned_wide));
  CHECK(std::ranges::count(narrow, 1) == std::ranges::count(crumbs, 1));
  CHECK(std::ranges::count(narrow, 2) < std::ranges::count(crumbs, 2));
}

TEST_CASE("components that meet at a corner between runs that end together are one") {
  // Labels 1 2 above 2 1: both touch aside, at the same end.
  const Bytes labels{1, 2, 2, 1};
  std::vector<std::int32_t> numbers(4);
  CHECK(label_components(labels, {1, 2, 2}, {}, numbers) == 2);
  CHECK(numbers == std::vector<std::int32_t>{1, 2, 2, 1});
  CHECK(label_components(labels, {2, 1, 2}, {}, numbers) == 2);
  CHECK(label_components(labels, {1, 2, 2}, {.neighbours = Neighbours::faces}, numbers) == 4);
}

TEST_CASE("of two components of one size the first stays, and the count says what went") {
  Bytes labels{1, 0, 1, 0, 2};
  CHECK(remove_components(labels, {1, 1, 5}, {.keep_largest = true}) == 1);
  CHECK(labels == Bytes{1, 0, 0, 0, 2});
  CHECK(remove_components(labels, {1, 1, 5}, {.least = 1}) == 0);
  CHECK(remove_components(labels, {1, 1, 5}, {.least = 2}) == 2);
  CHECK(labels == Bytes(5, 0));
}

TEST_CASE("components of an empty volume are none, and false extents are refused") {
  std::vector<std::int32_t> numbers(6, 7);
  CHECK(label_components(Bytes(6, 0), {1, 2, 3}, {}, numbers) == 0);
  CHECK(std::ranges::count(numbers, 0) == 6);
  CHECK_THROWS_AS(label_components(Bytes(5), {1, 2, 3}, {}, numbers), ConfigError);
  CHECK_THROWS_WITH_AS(label_components(Bytes(6), {1, 2, 3}, {}, std::span(numbers).first(5)),
                       "[components] extent says 6 voxels, got 6 labels and place for 5",
                       ConfigError);
  CHECK_THROWS_AS(label_components(Bytes(6), {1 << 11, 1 << 11, 1 << 11}, {}, numbers),
                  ConfigError);
}
