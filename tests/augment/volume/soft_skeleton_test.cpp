#include <headrace/augment/volume/soft_skeleton.h>
#include <headrace/augment/volume/voxel_bits.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using Operators = SoftSkeleton::Operators;

namespace {

struct Reference {
  std::array<std::int64_t, 3> sides;
  Operators operators;
  int iterations;
  const char* label;  ///< 4 voxels a hexadecimal digit, the first highest
  const char* skeleton;
};

const Reference references[] = {
#include "../reference/soft_skeleton_reference.inc"
};

Bytes voxels_of(std::string_view digits, std::size_t count) {
  Bytes voxels;
  for (const char digit : digits) {
    const int value = digit < 'a' ? digit - '0' : digit - 'a' + 10;
    for (int bit = 3; bit >= 0 && voxels.size() < count; --bit)
      voxels.push_back(static_cast<std::uint8_t>(value >> bit & 1));
  }
  return voxels;
}

Bytes skeleton(const SoftSkeleton& op, const Bytes& label, const Shape& shape) {
  Sample sample = test::sample_with("label", label, shape);
  op(sample);
  return test::values_of<std::uint8_t>(sample, "soft_skeleton");
}

}  // namespace

TEST_CASE("soft skeletons are those of max-pooling in PyTorch, by both kinds of operators") {
  REQUIRE(std::size(references) >= 20);
  for (const Reference& reference : references) {
    const Shape shape(reference.sides);
    const auto count = static_cast<std::size_t>(shape.elements());
    CAPTURE(to_string(shape));
    CAPTURE(reference.iterations);
    const Bytes expected = voxels_of(reference.skeleton, count);
    CHECK(skeleton({.iterations = reference.iterations, .operators = reference.operators},
                   voxels_of(reference.label, count), shape) == expected);
  }
}

TEST_CASE("the oracle's box of 36 voxels has a skeleton of 2") {
  Bytes label(5 * 6 * 7, 0);
  for (std::size_t z = 1; z <= 3; ++z)
    for (std::size_t y = 1; y <= 4; ++y)
      for (std::size_t x = 2; x <= 4; ++x)
        label[(z * 6 + y) * 7 + x] = 1;
  for (const Operators operators : {Operators::cross, Operators::cube}) {
    const Bytes found = skeleton({.operators = operators}, label, Shape{5, 6, 7});
    CHECK(std::ranges::count(found, 1) == 2);
    CHECK(found[(2 * 6 + 2) * 7 + 3] == 1);
    CHECK(found[(2 * 6 + 3) * 7 + 3] == 1);
  }
}

TEST_CASE(
    "labels can be chosen, what is ignored is background, and what was there is written over") {
  const std::vector<std::int16_t> line = {0, 3, 3, 3, 3, 2, 2, 0, 5, 0};
  const auto of = [&](const SoftSkeleton& op) {
    Sample sample = test::sample_with("label", line, Shape{1, 1, 1, 10});
    sample.set("soft_skeleton",
               Tensor::of(std::span<const std::uint8_t>(Bytes(10, 77)), Shape{1, 1, 1, 10}));
    op(sample);
    return test::values_of<std::uint8_t>(sample, "soft_skeleton");
  };
  CHECK(of({.labels = {5}}) == Bytes{0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  CHECK(of({.iterations = 1}) == Bytes{0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  CHECK(of({.iterations = 1, .ignore = 2}) == Bytes{0, 0, 1, 1, 0, 0, 0, 0, 1, 0});
  CHECK(of({.iterations = 2}) == Bytes{0, 0, 0, 1, 1, 0, 0, 0, 1, 0});
  CHECK(of({.labels = {9}}) == Bytes(10, 0));
  CHECK(of({.labels = {0, 2, 3, 5}}) == Bytes(10, 0));  // all of it: nothing erodes
}

TEST_CASE("soft skeletons refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("label", DType::int16, Shape{1, 4, 5, 6})};
  CHECK(SoftSkeleton{}.schema(in).at("soft_skeleton") ==
        FieldSpec::fixed("soft_skeleton", DType::uint8, Shape{1, 4, 5, 6}));
  CHECK(SoftSkeleton{}.working_bytes(in) == 8 * VoxelBits::bytes({4, 5, 6}));
  CHECK_THROWS_AS(SoftSkeleton{.iterations = 0}.schema(in), ConfigError);
  CHECK_THROWS_AS(SoftSkeleton{.iterations = 101}.schema(in), ConfigError);
  CHECK_THROWS_AS(SoftSkeleton{.to = "label"}.schema(in), ConfigError);
  CHECK_THROWS_AS(SoftSkeleton{.field = "other"}.schema(in), ConfigError);
  Sample floats = test::sample_with("label", test::Floats{1}, Shape{1, 1, 1});
  CHECK_THROWS_AS(SoftSkeleton{}(floats), DataError);
}
