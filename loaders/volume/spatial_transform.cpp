#include <headrace/engine/base/error.h>
#include <headrace/loaders/volume/internal/resample_task.h>
#include <headrace/loaders/volume/spatial_transform.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

namespace headrace::inline v1 {
namespace {

using Matrix = std::array<double, 9>;
using Patch = std::array<std::int64_t, 3>;

constexpr double degree = std::numbers::pi / 180.0;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k)
        out[3 * i + j] += a[3 * i + k] * b[3 * k + j];
  return out;
}

/// About an axis: the other two take cosine and sine.
Matrix turn(std::size_t axis, double cosine, double sine, double back) {
  Matrix out{1, 0, 0, 0, 1, 0, 0, 0, 1};
  const std::size_t a = axis == 0 ? 1 : 0;
  const std::size_t b = axis == 2 ? 1 : 2;
  out[4 * a] = cosine;
  out[4 * b] = cosine;
  out[3 * a + b] = back;
  out[3 * b + a] = sine;
  return out;
}

Matrix turned(std::size_t axis, double degrees) {
  const double sine = std::sin(degrees * degree);
  return turn(axis, std::cos(degrees * degree), sine, -sine);
}

Matrix scaled(const Matrix& matrix, std::size_t axis, double factor) {
  Matrix out = matrix;
  for (std::size_t i = 0; i < 3; ++i)
    out[3 * i + axis] *= factor;
  return out;
}

/// The most of |sine| over a range of degrees.
double largest_sine(const DrawnRange& angles) {
  const double most = std::max(std::abs(angles.least), std::abs(angles.most));
  return most >= 90.0 ? 1.0 : std::sin(most * degree);
}

/// A cubic B-spline of independent values is as smooth as what a Gaussian of a third of its
/// spacing's square made.
double spacing_of(double sigma) {
  return sigma * std::numbers::sqrt3;
}

/// Draws the values of a map's spline, and scales them to the displacement that is drawn.
void bend(const SpatialTransform& how, Random& random, SpatialMap& map) {
  map.knot_spacing = spacing_of(how.elastic_sigma);
  map.knots = how.knots(map.patch);
  std::size_t values = 3;
  for (std::int32_t count : map.knots)
    values *= static_cast<std::size_t>(count);
  map.displacement.resize(values);
  const auto along = static_cast<std::size_t>(map.knots[2]);
  for (std::size_t i = 0; i < values; ++i) {
    const auto value = static_cast<float>(random.normal());
    map.displacement[i] = how.flat && i / along % 3 == 0 ? 0.0F : value;
  }
  const double voxels = random.uniform(how.elastic_voxels.least, how.elastic_voxels.most);
  float most = 0.0F;
  for (const MoveBounds& along_axis : move_bounds(map))
    most = std::max({most, -along_axis.least, along_axis.most});
  const float factor = most > 0.0F ? static_cast<float>(voxels) / most : 0.0F;
  for (float& value : map.displacement)
    value *= factor;
}

void check_chance(double chance, const char* name) {
  if (!(chance >= 0.0 && chance <= 1.0)) {
    throw ConfigError(std::string("[spatial transform] ") + name +
                      " must be a probability from 0 to 1, got " + std::to_string(chance));
  }
}

void check_range(const DrawnRange& range, double least, double most, const char* name) {
  if (!(range.least >= least && range.least <= range.most && range.most <= most)) {
    throw ConfigError(std::string("[spatial transform] ") + name + " must rise from " +
                      std::to_string(least) + " or more to " + std::to_string(most) +
                      " or less, got " + std::to_string(range.least) + " to " +
                      std::to_string(range.most));
  }
}

}  // namespace

SpatialTransform SpatialTransform::nnunet(bool flat) {
  return {.rotation = 0.2,
          .angles = flat ? DrawnRange{-180.0, 180.0} : DrawnRange{-30.0, 30.0},
          .scaling = 0.2,
          .mirror = {0.5, 0.5, 0.5},
          .flat = flat};
}

void SpatialTransform::check() const {
  check_chance(rotation, "rotation");
  check_chance(scaling, "scaling");
  check_chance(anisotropy, "anisotropy");
  check_chance(elastic, "elastic");
  for (double chance : mirror)
    check_chance(chance, "mirror");
  check_range(angles, -180.0, 180.0, "angles");
  check_range(scales, 0.1, 10.0, "scales");
  check_range(anisotropies, 0.1, 10.0, "anisotropies");
  check_range(elastic_voxels, 0.0, 1000.0, "elastic_voxels");
  if (!(elastic_sigma >= 1.0 && elastic_sigma <= 1000.0)) {
    throw ConfigError("[spatial transform] elastic_sigma must be from 1 to 1000 voxels, got " +
                      std::to_string(elastic_sigma));
  }
}

SpatialMap SpatialTransform::draw(const Patch& patch, const Patch& centre, Random& random) const {
  SpatialMap map{.patch = patch};
  Matrix& matrix = map.matrix;
  const std::size_t first = flat ? 1 : 0;  // axis that is scaled and bent
  if (random.chance(rotation)) {
    const auto one = static_cast<std::size_t>(random.below(3));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double angle = random.uniform(angles.least, angles.most);
      const bool taken = flat ? axis == 0 : turns == Turns::every_axis || axis == one;
      if (taken) matrix = product(matrix, turned(axis, angle));
    }
  }
  if (random.chance(scaling)) {
    const double same = random.uniform(scales.least, scales.most);
    for (std::size_t axis = first; axis < 3; ++axis)
      matrix = scaled(matrix, axis, same_scale ? same : random.uniform(scales.least, scales.most));
  }
  if (random.chance(anisotropy)) {
    const std::size_t axis = first + static_cast<std::size_t>(random.below(flat ? 2 : 3));
    matrix = scaled(matrix, axis, random.uniform(anisotropies.least, anisotropies.most));
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (random.chance(mirror[axis])) matrix = scaled(matrix, axis, -1.0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    map.origin[axis] = static_cast<double>(centre[axis] - patch[axis] / 2) +
                       0.5 * static_cast<double>(patch[axis] - 1);
    for (std::size_t of = 0; of < 3; ++of)
      map.origin[axis] -= matrix[3 * axis + of] * 0.5 * static_cast<double>(patch[of] - 1);
  }
  if (random.chance(elastic)) bend(*this, random, map);
  return map;
}

std::array<std::int32_t, 3> SpatialTransform::knots(const Patch& patch) const {
  std::array<std::int32_t, 3> counts{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    counts[axis] = SpatialMap::knots_for(patch[axis], spacing_of(elastic_sigma));
  return counts;
}

std::array<std::int64_t, 3> SpatialTransform::largest_reach(const Patch& patch) const {
  const double sine = rotation > 0.0 ? largest_sine(angles) : 0.0;
  Matrix most{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (std::size_t axis = 0; axis < (flat ? 1U : 3U); ++axis)
    most = product(most, turn(axis, 1.0, sine, sine));
  const double larger = (scaling > 0.0 ? std::max(scales.most, 1.0) : 1.0) *
                        (anisotropy > 0.0 ? std::max(anisotropies.most, 1.0) : 1.0);
  double diagonal = 0.0;
  for (std::int64_t extent : patch)
    diagonal += static_cast<double>((extent - 1) * (extent - 1));
  std::array<std::int64_t, 3> reach{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double sum = 0.0;
    for (std::size_t of = 0; of < 3; ++of)
      sum += std::min(most[3 * axis + of], 1.0) * static_cast<double>(patch[of] - 1);
    sum = std::min(sum, std::sqrt(diagonal)) * larger;
    if (elastic > 0.0) sum += 2.0 * elastic_voxels.most;
    reach[axis] = static_cast<std::int64_t>(std::ceil(sum)) + 3;
  }
  return reach;
}

}  // namespace headrace::inline v1
