#include <headrace/augment/volume/detail/distance.h>
#include <headrace/augment/volume/distance_transform.h>
#include <headrace/engine/base/error.h>
#include <headrace/tests/augment/volume/stored_values.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <doctest/doctest.h>

using namespace headrace;
using headrace::test::Bytes;
using headrace::test::Floats;

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();

Floats distances(const DistanceTransform& op, const Bytes& label, const Shape& shape) {
  Sample sample = test::sample_with("label", label, shape);
  op(sample);
  return test::values_of<float>(sample, "distance");
}

/// From each voxel to each, in double.
std::vector<double> by_force(const Bytes& label, const Shape& shape,
                             const std::array<double, 3>& spacing) {
  const auto place = [&](std::int64_t i) {
    return std::array{static_cast<double>(i / (shape[1] * shape[2])) * spacing[0],
                      static_cast<double>(i / shape[2] % shape[1]) * spacing[1],
                      static_cast<double>(i % shape[2]) * spacing[2]};
  };
  std::vector<double> result;
  for (std::size_t i = 0; i < label.size(); ++i) {
    double best = unbounded;
    const auto a = place(static_cast<std::int64_t>(i));
    for (std::size_t j = 0; j < label.size(); ++j) {
      if (label[j] == 0) continue;
      const auto b = place(static_cast<std::int64_t>(j));
      best = std::min(best, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
    }
    result.push_back(best);
  }
  return result;
}

Bytes sparse(const Shape& shape, unsigned one_in, unsigned seed) {
  Bytes label;
  unsigned state = seed;
  for (std::int64_t i = 0; i < shape[0] * shape[1] * shape[2]; ++i) {
    state = state * 1664525U + 1013904223U;
    label.push_back(static_cast<std::uint8_t>((state >> 8) % one_in == 0));
  }
  return label;
}

void check_by_force(const Shape& shape, const std::array<double, 3>& spacing, unsigned one_in) {
  const Bytes label = sparse(shape, one_in, one_in);
  const Floats found = distances({.spacing = spacing}, label, shape);
  const auto exact = by_force(label, shape, spacing);
  for (std::size_t i = 0; i < exact.size(); ++i)
    REQUIRE(std::abs(static_cast<double>(found[i]) - exact[i]) <= 3e-7 * exact[i]);
}

/// The three features of the oracle.
Bytes oracle() {
  Bytes label(6 * 7 * 8, 0);
  for (const auto [z, y, x] : {std::array{0, 0, 0}, {2, 5, 3}, {5, 1, 7}})
    label[static_cast<std::size_t>((z * 7 + y) * 8 + x)] = 1;
  return label;
}

}  // namespace

TEST_CASE("distances are the oracle's, with and without spacing") {
  const auto sums = [](const Floats& found) {
    std::array<double, 3> result{};
    for (float distance : found) {
      const double d = distance;
      const double square = std::nearbyint(d * d * 4) / 4;
      result[0] += square;
      result[1] += std::sqrt(square);
      result[2] = std::max(result[2], square);
      CHECK(distance == static_cast<float>(std::sqrt(square)));
    }
    return result;
  };
  const auto even = sums(distances({}, oracle(), Shape{6, 7, 8}));
  CHECK(even[0] == 3453);
  CHECK(even[1] == doctest::Approx(1017.978164068389).epsilon(1e-12));
  CHECK(even[2] == 27);
  const auto spaced = sums(distances({.spacing = {2, 1, 0.5}}, oracle(), Shape{6, 7, 8}));
  CHECK(spaced[0] == 3690.25);
  CHECK(spaced[2] == 37.25);
}

TEST_CASE("distances to the box of 36 voxels are counted as the oracle counts them") {
  Bytes label(5 * 6 * 7, 0);
  for (std::size_t z = 1; z <= 3; ++z) {
    for (std::size_t y = 1; y <= 4; ++y) {
      for (std::size_t x = 2; x <= 4; ++x)
        label[(z * 6 + y) * 7 + x] = 1;
    }
  }
  std::array<int, 7> counts{};
  for (float distance : distances({}, label, Shape{5, 6, 7}))
    ++counts[static_cast<std::size_t>(std::lround(distance * distance))];
  CHECK(counts == std::array{36, 66, 40, 8, 24, 28, 8});
  double sum = 0;
  for (float distance : distances({.most = 2}, label, Shape{5, 6, 7}))
    sum += static_cast<double>(distance);
  CHECK(sum == doctest::Approx(256.424948955475).epsilon(1e-7));
}

TEST_CASE("distances are those from each voxel to each") {
  check_by_force(Shape{9, 14, 19}, {1, 1, 1}, 50);
  check_by_force(Shape{9, 14, 19}, {1, 1, 1}, 3);
  check_by_force(Shape{9, 14, 19}, {2.5, 0.7, 0.33}, 60);
  check_by_force(Shape{1, 1, 40}, {1, 1, 1}, 9);
  check_by_force(Shape{3, 17, 2}, {3, 1, 1}, 20);
}

TEST_CASE("long axes, by envelopes of parabolas, are as exact as short ones") {
  check_by_force(Shape{2, 300, 3}, {1, 1, 1}, 150);
  check_by_force(Shape{3, 200, 25}, {1, 1, 1}, 60);
  check_by_force(Shape{260, 3, 2}, {0.9, 1.1, 1}, 300);
  check_by_force(Shape{250, 1, 1}, {1, 1, 1}, 7);
}

TEST_CASE("cut distances are the exact ones up to the cut") {
  for (const double most : {0.5, 1.0, 2.0, 4.5, 30.0}) {
    for (const Shape& shape : {Shape{9, 14, 19}, Shape{2, 300, 3}}) {
      const Bytes label = sparse(shape, 80, 9);
      Floats exact = distances({}, label, shape);
      for (float& d : exact)
        d = std::min(d, static_cast<float>(most));
      REQUIRE(distances({.most = most}, label, shape) == exact);
    }
  }
}

TEST_CASE("without the label everything is as far as can be, and labels can be chosen") {
  const Bytes label = {0, 2, 1, 0, 0, 3, 0, 0};
  const Shape line{1, 1, 8};
  CHECK(distances({}, Bytes(8, 0), line) == Floats(8, std::numeric_limits<float>::infinity()));
  CHECK(distances({.most = 4}, Bytes(8, 0), line) == Floats(8, 4.0F));
  CHECK(distances({}, label, line) == Floats{1, 0, 0, 1, 1, 0, 1, 2});
  CHECK(distances({.ignore = 2}, label, line) == Floats{2, 1, 0, 1, 1, 0, 1, 2});
  CHECK(distances({.labels = {3}}, label, line) == Floats{5, 4, 3, 2, 1, 0, 1, 2});
  CHECK(distances({.labels = {0}}, label, line) == Floats{0, 1, 1, 0, 0, 1, 0, 0});
  Sample wide =
      test::sample_with("label", std::vector<std::int64_t>{-1, 0, 900}, Shape{1, 1, 1, 3});
  DistanceTransform{}(wide);
  CHECK(test::values_of<float>(wide, "distance") == Floats{2, 1, 0});
  CHECK(wide["distance"].shape() == Shape{1, 1, 1, 3});
}

TEST_CASE("every vector width finds the same distances") {
  for (const Shape& shape : {Shape{9, 14, 37}, Shape{5, 6, 3}}) {
    const Bytes label = sparse(shape, 90, 4);
    const auto by = [&](int target, Floats& out) {
      out.assign(label.size(), 0);
      return detail::distances({.features = label.data(),
                                .grid = {shape[0], shape[1], shape[2]},
                                .spacing = {1.1F, 0.3F, 0.77F},
                                .most = std::numeric_limits<float>::infinity(),
                                .out = out.data()},
                               target);
    };
    Floats first;
    REQUIRE(by(0, first));
    Floats other;
    for (int target = 1; by(target, other); ++target)
      REQUIRE(std::memcmp(first.data(), other.data(), first.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("distances refuse what cannot be right") {
  const Schema in{FieldSpec::fixed("label", DType::uint8, Shape{4, 5, 6}),
                  FieldSpec::fixed("image", DType::float32, Shape{1, 4, 5, 6})};
  const Schema out = DistanceTransform{}.schema(in);
  CHECK(out.at("distance") == FieldSpec::fixed("distance", DType::float32, Shape{4, 5, 6}));
  CHECK(DistanceTransform{}.working_bytes(in) >= 120);
  CHECK_THROWS_AS((DistanceTransform{.spacing = {1, 0, 1}}.schema(in)), ConfigError);
  CHECK_THROWS_AS(DistanceTransform{.most = 0}.schema(in), ConfigError);
  CHECK_THROWS_AS(DistanceTransform{.field = "image"}.schema(in), ConfigError);
  CHECK_THROWS_AS(DistanceTransform{.to = "label"}.schema(in), ConfigError);
}
