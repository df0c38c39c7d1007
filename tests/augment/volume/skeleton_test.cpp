#include <headrace/augment/volume/skeleton.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::StoredValues;

namespace {

struct Solid {
  const char* name;
  Shape shape;
};

const Solid solids[] = {{"blobs", Shape{14, 18, 20}},
                        {"sheet", Shape{16, 20, 22}},
                        {"crumbs", Shape{10, 12, 14}},
                        {"ball", Shape{16, 20, 22}},
                        {"cubes", Shape{16, 20, 22}}};

Bytes skeleton(const Skeleton& op, const Solid& solid) {
  const std::string name = solid.name;
  Sample sample =
      test::sample_with("label", StoredValues::get().bytes("solid " + name), solid.shape);
  op(sample);
  return test::values_of<std::uint8_t>(sample, "skeleton");
}

}  // namespace

TEST_CASE("skeletons are scikit-image's, voxel for voxel") {
  for (const Solid& solid : solids) {
    CAPTURE(solid.name);
    const std::string name = solid.name;
    const Bytes thin = skeleton({.grow = 0}, solid);
    CHECK(thin == StoredValues::get().bytes("skeleton " + name));
    CHECK(std::ranges::count(thin, 1) > 0);
    CHECK(skeleton({}, solid) == StoredValues::get().bytes("tube " + name));
    CHECK(skeleton({.grow = 0, .slices = true}, solid) ==
          StoredValues::get().bytes("slices " + name));
  }
}

TEST_CASE("a skeleton is of the labels that are asked for, and may keep them") {
  const std::vector<std::int16_t> line = {0, 3, 3, 3, 3, 2, 2, 0, 5, 0};
  const auto of = [&](const Skeleton& op) {
    Sample sample = test::sample_with("label", line, Shape{1, 1, 1, 10});
    op(sample);
    return test::values_of<std::uint8_t>(sample, "skeleton");
  };
  CHECK(of({.grow = 0}) == Bytes{0, 1, 1, 1, 1, 1, 1, 0, 1, 0});
  CHECK(of({.ignore = 2, .grow = 0}) == Bytes{0, 1, 1, 1, 1, 0, 0, 0, 1, 0});
  CHECK(of({.labels = {5}, .grow = 2}) == Bytes{0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(of({.labels = {5}, .grow = 2, .keep_labels = true}) == Bytes{0, 0, 0, 0, 0, 0, 2, 0, 5, 0});
}

TEST_CASE("nothing and everything can be thinned") {
  Sample none = test::sample_with("label", Bytes(27, 0), Shape{3, 3, 3});
  Skeleton{}(none);
  CHECK(test::values_of<std::uint8_t>(none, "skeleton") == Bytes(27, 0));
  Sample all = test::sample_with("label", Bytes(27, 1), Shape{3, 3, 3});
  Skeleton{.grow = 0}(all);
  CHECK(std::ranges::count(test::values_of<std::uint8_t>(all, "skeleton"), 1) ==
        3);  // as scikit-image leaves
}

TEST_CASE("skeletons refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("label", DType::int16, Shape{4, 5, 6})};
  CHECK(Skeleton{}.schema(in).at("skeleton") ==
        FieldSpec::fixed("skeleton", DType::uint8, Shape{4, 5, 6}));
  CHECK(Skeleton{}.working_bytes(in) > 0);
  CHECK_THROWS_AS(Skeleton{.grow = -1}.schema(in), ConfigError);
  CHECK_THROWS_AS(Skeleton{.to = "label"}.schema(in), ConfigError);
  Sample large = test::sample_with("label", std::vector<std::int16_t>{300}, Shape{1, 1, 1});
  CHECK_THROWS_AS((Skeleton{.keep_labels = true}(large)), DataError);
  Sample floats = test::sample_with("label", test::Floats{1}, Shape{1, 1, 1});
  CHECK_THROWS_AS(Skeleton{}(floats), DataError);
}
