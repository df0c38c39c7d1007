// Coordinate maps of patches and what is drawn for them, and resampling against scipy's.
#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/spatial_transform.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <set>
#include <vector>

#include <doctest/doctest.h>

namespace headrace::test {
namespace {

using headrace::detail::PatchMap;
using headrace::detail::ResampleTask;
using headrace::detail::Resampling;
using Patch = std::array<std::int64_t, 3>;

Random random_of(std::int64_t position) {
  return Random(RandomKey{.seed = 11, .position = position});
}

/// A patch of `map` out of a whole uint8 volume, which is its own box.
template <class Out>
std::vector<Out> patch_of(const SpatialMap& map, const std::vector<std::uint8_t>& volume,
                          const Patch& shape, Resampling how) {
  const PatchMap in_box =
      headrace::detail::patch_map(map, {.begin = {}, .end = {1, shape[0], shape[1], shape[2]}});
  std::vector<std::uint8_t> box = volume;
  box.resize(box.size() + headrace::detail::box_slack);
  const std::int64_t zero = 0;
  const float values[] = {1.0F, 0.0F};
  std::vector<Out> out(static_cast<std::size_t>(map.patch[0] * map.patch[1] * map.patch[2]));
  ResampleTask task{.boxes = reinterpret_cast<const std::byte*>(box.data()),
                    .box_offsets = &zero,
                    .displacements = map.displacement.data(),
                    .displacement_offsets = &zero,
                    .maps = &in_box,
                    .values = values,
                    .samples = 1,
                    .how = how,
                    .to = out.data()};
  for (std::size_t axis = 0; axis < 3; ++axis)
    task.patch[axis] = static_cast<std::int32_t>(map.patch[axis]);
  headrace::detail::resample_rows(task, 0, map.patch[0] * map.patch[1]);
  return out;
}

std::vector<std::uint8_t> volume_of(const Patch& shape) {
  std::vector<std::uint8_t> volume;
  for (std::int64_t z = 0; z < shape[0]; ++z)
    for (std::int64_t y = 0; y < shape[1]; ++y)
      for (std::int64_t x = 0; x < shape[2]; ++x)
        volume.push_back(
            static_cast<std::uint8_t>((z * z * 7 + y * 31 + x * x * 3 + z * y * x) % 256));
  return volume;
}

struct Stored {
  std::array<double, 12> numbers;
  std::array<double, 120> values;
};

const Stored stored_patches[] = {
#include "data/resampled.inc"
};

TEST_CASE("Resampled patches are scipy's within 1e-4 of the range") {
  const Patch shape{9, 10, 11};
  for (const Stored& one : stored_patches) {
    SpatialMap map{.patch = {4, 5, 6}};
    std::copy_n(one.numbers.begin(), 9, map.matrix.begin());
    std::copy_n(one.numbers.begin() + 9, 3, map.origin.begin());
    const auto found = patch_of<float>(map, volume_of(shape), shape, Resampling::linear);
    double furthest = 0.0;
    for (std::size_t i = 0; i < found.size(); ++i)
      furthest = std::max(furthest, std::abs(found[i] - one.values[i]));
    CHECK(furthest < 1e-4 * 255);
  }
}

TEST_CASE("What changes nothing gives the volume's own voxels, and mirrors give them mirrored") {
  const Patch shape{7, 8, 9};
  const Patch patch{4, 5, 6};
  const std::vector<std::uint8_t> volume = volume_of(shape);
  const Patch middle{3, 4, 4};
  for (int mirrored = 0; mirrored < 8; ++mirrored) {
    SpatialTransform transform;
    for (int axis = 0; axis < 3; ++axis)
      transform.mirror[static_cast<std::size_t>(axis)] = (mirrored >> axis & 1) != 0 ? 1.0 : 0.0;
    Random random = random_of(0);
    const SpatialMap map = transform.draw(patch, middle, random);
    CHECK(reach_of(map).shape() == VolumeIndex{1, 4, 5, 6});
    const auto floats = patch_of<float>(map, volume, shape, Resampling::linear);
    const auto labels = patch_of<std::uint8_t>(map, volume, shape, Resampling::one_hot);
    for (std::int64_t z = 0; z < 4; ++z) {
      for (std::int64_t y = 0; y < 5; ++y) {
        for (std::int64_t x = 0; x < 6; ++x) {
          const std::int64_t from_z = 1 + ((mirrored & 1) != 0 ? 3 - z : z);
          const std::int64_t from_y = 2 + ((mirrored & 2) != 0 ? 4 - y : y);
          const std::int64_t from_x = 1 + ((mirrored & 4) != 0 ? 5 - x : x);
          const auto wanted = volume[static_cast<std::size_t>((from_z * 8 + from_y) * 9 + from_x)];
          const auto i = static_cast<std::size_t>((z * 5 + y) * 6 + x);
          REQUIRE(floats[i] == static_cast<float>(wanted));
          REQUIRE(labels[i] == wanted);
        }
      }
    }
  }
}

TEST_CASE("A quarter turn exchanges indices") {
  const Patch shape{6, 6, 6};
  const std::vector<std::uint8_t> volume = volume_of(shape);
  SpatialMap map{.patch = shape, .matrix = {1, 0, 0, 0, 0, -1, 0, 1, 0}, .origin = {0, 5, 0}};
  const auto floats = patch_of<float>(map, volume, shape, Resampling::linear);
  const auto nearest = patch_of<std::uint8_t>(map, volume, shape, Resampling::nearest);
  for (std::int64_t z = 0; z < 6; ++z)
    for (std::int64_t y = 0; y < 6; ++y)
      for (std::int64_t x = 0; x < 6; ++x) {
        const auto wanted = volume[static_cast<std::size_t>((z * 6 + 5 - x) * 6 + y)];
        const auto i = static_cast<std::size_t>((z * 6 + y) * 6 + x);
        REQUIRE(floats[i] == static_cast<float>(wanted));
        REQUIRE(nearest[i] == wanted);
      }
}

TEST_CASE("Labels stay in their set, whatever the map") {
  const Patch shape{8, 9, 10};
  std::vector<std::uint8_t> labels = volume_of(shape);
  for (std::uint8_t& label : labels)
    label = static_cast<std::uint8_t>(label % 3 == 0 ? 200 : label % 3 == 1 ? 3 : 7);
  const SpatialTransform transform{
      .rotation = 1.0, .scaling = 1.0, .elastic = 1.0, .elastic_sigma = 3.0};
  for (std::int64_t position = 0; position < 20; ++position) {
    Random random = random_of(position);
    const SpatialMap map = transform.draw({6, 7, 8}, {4, 4, 5}, random);
    for (const Resampling how : {Resampling::nearest, Resampling::one_hot})
      for (const std::uint8_t label : patch_of<std::uint8_t>(map, labels, shape, how))
        REQUIRE((label == 200 || label == 3 || label == 7));
  }
}

/// Places of the patch's corners and, of elastic maps, of all voxels by the spline's definition.
void check_reach(const SpatialMap& map) {
  const VolumeBox box = reach_of(map);
  const auto moves = move_bounds(map);
  for (int corner = 0; corner < 8; ++corner) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double place = map.origin[axis];
      for (std::size_t of = 0; of < 3; ++of)
        if ((corner >> of & 1) != 0)
          place += map.matrix[3 * axis + of] * static_cast<double>(map.patch[of] - 1);
      REQUIRE(place + moves[axis].least >= static_cast<double>(box.begin[axis + 1]) - 1e-9);
      REQUIRE(place + moves[axis].most <= static_cast<double>(box.end[axis + 1] - 1) + 1e-9);
    }
  }
}

TEST_CASE("What is read holds all places, and no draw reaches further than was said") {
  const SpatialTransform transforms[] = {SpatialTransform::nnunet(),
                                         SpatialTransform::nnunet(true),
                                         {.rotation = 1.0,
                                          .turns = SpatialTransform::Turns::one_axis,
                                          .scaling = 0.5,
                                          .same_scale = false,
                                          .anisotropy = 0.5,
                                          .elastic = 0.3,
                                          .elastic_sigma = 6.0,
                                          .elastic_voxels = {2.0, 5.0}}};
  const Patch patch{9, 21, 30};
  for (const SpatialTransform& transform : transforms) {
    const auto most = transform.largest_reach(patch);
    std::array<std::int64_t, 3> seen{};
    for (std::int64_t position = 0; position < 2000; ++position) {
      Random random = random_of(position);
      const SpatialMap map = transform.draw(patch, {50, 60, 70}, random);
      check_reach(map);
      const VolumeIndex shape = reach_of(map).shape();
      for (std::size_t axis = 0; axis < 3; ++axis)
        seen[axis] = std::max(seen[axis], shape[axis + 1]);
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      CHECK(seen[axis] <= most[axis]);
      CHECK(3 * seen[axis] > most[axis]);  // nor is much more said than happens
    }
  }
}

TEST_CASE("An elastic map moves places as far as was drawn, not further") {
  const SpatialTransform transform{
      .elastic = 1.0, .elastic_sigma = 5.0, .elastic_voxels = {4.0, 4.0}};
  double largest = 0.0;
  for (std::int64_t position = 0; position < 50; ++position) {
    Random random = random_of(position);
    const SpatialMap map = transform.draw({20, 30, 40}, {50, 50, 50}, random);
    float most = 0.0F;
    for (const MoveBounds& axis : move_bounds(map))
      most = std::max({most, -axis.least, axis.most});
    CHECK(most == doctest::Approx(4.0));
    // Where the spline passes, at whole knots, it is a sixth, four and a sixth of its values.
    const auto value = [&](std::int32_t z, std::int32_t y, std::int32_t axis, std::int32_t x) {
      return map.displacement[static_cast<std::size_t>(
          ((z * map.knots[1] + y) * 3 + axis) * map.knots[2] + x)];
    };
    for (std::int32_t z = 1; z + 1 < map.knots[0]; ++z)
      for (std::int32_t y = 1; y + 1 < map.knots[1]; ++y)
        for (std::int32_t x = 1; x + 1 < map.knots[2]; ++x)
          for (std::int32_t axis = 0; axis < 3; ++axis) {
            double sum = 0.0;
            for (int k = 0; k < 27; ++k) {
              const double weight =
                  (k / 9 == 1 ? 4 : 1) * (k / 3 % 3 == 1 ? 4 : 1) * (k % 3 == 1 ? 4 : 1) / 216.0;
              sum += weight * value(z + k / 9 - 1, y + k / 3 % 3 - 1, axis, x + k % 3 - 1);
            }
            largest = std::max(largest, std::abs(sum));
          }
  }
  CHECK(largest <= 4.0);
  CHECK(largest > 3.0);
}

TEST_CASE("Turns, scales and mirrors come as often as they are asked for, in their range") {
  const SpatialTransform transform = SpatialTransform::nnunet();
  const Patch patch{16, 16, 16};
  int turned = 0;
  int scaled = 0;
  int mirrored = 0;
  constexpr int draws = 10000;
  for (int i = 0; i < draws; ++i) {
    Random random = random_of(i);
    const SpatialMap map = transform.draw(patch, {20, 20, 20}, random);
    double length = 0.0;  // of the first column
    for (std::size_t axis = 0; axis < 3; ++axis)
      length += map.matrix[3 * axis] * map.matrix[3 * axis];
    length = std::sqrt(length);
    CHECK(length > 0.7 - 1e-9);
    CHECK(length < 1.4 + 1e-9);
    scaled += std::abs(length - 1.0) > 1e-9 ? 1 : 0;
    turned += std::abs(map.matrix[1]) + std::abs(map.matrix[2]) > 1e-9 ? 1 : 0;
    mirrored += map.matrix[0] < 0.0 ? 1 : 0;
    // Rows stay at right angles, of one length.
    double product = 0.0;
    for (std::size_t k = 0; k < 3; ++k)
      product += map.matrix[k] * map.matrix[3 + k];
    CHECK(std::abs(product) < 1e-9);
  }
  CHECK(std::abs(turned - 2000) < 200);
  CHECK(std::abs(scaled - 2000) < 200);
  CHECK(std::abs(mirrored - 5000) < 250);
}

TEST_CASE("In the plane slices stay slices") {
  const SpatialTransform transform = SpatialTransform::nnunet(true);
  for (int i = 0; i < 500; ++i) {
    Random random = random_of(i);
    const SpatialMap map = transform.draw({8, 32, 32}, {20, 20, 20}, random);
    CHECK(std::abs(map.matrix[0]) == 1.0);
    for (const std::size_t other : {1, 2, 3, 6})
      CHECK(map.matrix[other] == 0.0);
    CHECK(map.origin[0] == std::floor(map.origin[0]));
  }
}

TEST_CASE("Ranges and probabilities that cannot be right are refused") {
  CHECK_THROWS_WITH_AS(
      SpatialTransform{.rotation = 1.5}.check(),
      "[spatial transform] rotation must be a probability from 0 to 1, got 1.500000", ConfigError);
  SpatialTransform falling;
  falling.scales = {1.4, 0.7};
  CHECK_THROWS_AS(falling.check(), ConfigError);
  SpatialTransform beyond;
  beyond.angles = {-200.0, 0.0};
  CHECK_THROWS_AS(beyond.check(), ConfigError);
  SpatialTransform rough;
  rough.elastic_sigma = 0.0;
  CHECK_THROWS_AS(rough.check(), ConfigError);
}

}  // namespace
}  // namespace headrace::test
