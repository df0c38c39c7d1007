#include <headrace/augment/volume/closing.h>
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

constexpr GridExtent closed_extent{12, 16, 18};

template <class Label>
std::vector<Label> closed(std::vector<Label> labels, const Closing& closing) {
  close_labels(labels, closed_extent, closing);
  return labels;
}

}  // namespace

TEST_CASE("labels are closed with a ball as SciPy closes them, voxel for voxel") {
  const Bytes& sheets = StoredValues::of_predictions().bytes("sheets");
  for (const int radius : {1, 2, 3, 5}) {
    CAPTURE(radius);
    const Bytes& expected =
        StoredValues::of_predictions().bytes("closed " + std::to_string(radius));
    CHECK(expected != sheets);
    CHECK(closed(sheets, {.radius = static_cast<double>(radius)}) == expected);
    const std::vector<std::int16_t> wide(sheets.begin(), sheets.end());
    CHECK(std::ranges::equal(closed(wide, {.radius = static_cast<double>(radius)}), expected));
  }
  CHECK(closed(sheets, {.radius = 2.9}) !=
        StoredValues::of_predictions().bytes("closed 3"));  // a smaller ball
  CHECK(closed(sheets, {.radius = 0}) == sheets);
}

TEST_CASE(
    "closing fills what no ball reaches, and keeps other labels and what lies at the border") {
  // Nine rows alike: a gap is filled where it lies deep enough, in the middle row.
  const Bytes row{0, 1, 0, 1, 2, 1, 0, 3, 0, 3};
  const GridExtent block{3, 3, 10};
  Bytes labels;
  for (int i = 0; i < 9; ++i)
    labels.insert(labels.end(), row.begin(), row.end());
  const auto middle = [&] { return Bytes(labels.begin() + 40, labels.begin() + 50); };
  CHECK(close_labels(labels, block, {.radius = 1, .labels = {3}}) == 1);
  CHECK(middle() == Bytes{0, 1, 0, 1, 2, 1, 0, 3, 3, 3});
  CHECK(close_labels(labels, block, {.radius = 1}) == 1);
  CHECK(middle() == Bytes{0, 1, 1, 1, 2, 1, 0, 3, 3, 3});
  CHECK(std::equal(row.begin(), row.end(), labels.begin()));
  CHECK(close_labels(labels, block, {.radius = 1, .labels = {7}}) == 0);
}

TEST_CASE("closing refuses what cannot be right") {
  Bytes labels(6);
  CHECK_THROWS_AS(close_labels(labels, {1, 2, 4}, {}), ConfigError);
  CHECK_THROWS_WITH_AS(close_labels(labels, {1, 2, 3}, {.radius = -1}),
                       doctest::Contains("radius must be 0 to 1000 voxels, got -1"), ConfigError);
}
