#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cubical_persistence.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include <gudhi/Bitmap_cubical_complex.h>
#include <gudhi/Persistent_cohomology.h>

namespace headrace::inline v1::models {

namespace {

using Complex = Gudhi::cubical_complex::Bitmap_cubical_complex<
    Gudhi::cubical_complex::Bitmap_cubical_complex_base<float>>;
using Cohomology =
    Gudhi::persistent_cohomology::Persistent_cohomology<Complex,
                                                        Gudhi::persistent_cohomology::Field_Zp>;
using Shape = std::array<std::int64_t, 3>;

void require_volume(std::span<const float> values, const Shape& shape) {
  std::int64_t voxels = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > std::numeric_limits<std::int32_t>::max() / voxels)
      throw ConfigError(
          "[cubical_persistence] a volume has at least a voxel on each axis, and fewer than 2^31 "
          "in "
          "all, got [" +
          std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + ", " +
          std::to_string(shape[2]) + ']');
    voxels *= extent;
  }
  if (static_cast<std::size_t>(voxels) != values.size())
    throw ConfigError("[cubical_persistence] a value for each of " + std::to_string(voxels) +
                      " voxels is needed, got " + std::to_string(values.size()));
  const auto bad =
      std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  if (bad != values.end())
    throw DataError("[cubical_persistence] values must be finite, got " + std::to_string(*bad) +
                    " at voxel " + std::to_string(bad - values.begin()));
}

// The library's cells and our voxels. Axes count from the fastest one; those of one voxel are left
// out, which changes no homology and spares two thirds of the cells.
class Grid {
 public:
  Grid(std::span<const float> values, const Shape& shape) : values_(values) {
    std::size_t cells = 1;
    std::size_t voxels = 1;
    for (std::size_t axis = 3; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (extent == 1 && !(axis == 0 && sizes_.empty())) continue;
      const std::size_t place = sizes_.size();
      sizes_.push_back(static_cast<unsigned>(extent));
      cell_step_[place] = cells;
      voxel_step_[place] = voxels;
      cells *= 2 * extent + 1;
      voxels *= extent;
    }
  }

  const std::vector<unsigned>& sizes() const { return sizes_; }

  // The first voxel that holds the cell and has its value. A cell at 2i lies between voxels i - 1
  // and i of that axis, one at 2i + 1 inside i.
  std::int32_t voxel(std::size_t cell, float value) const {
    std::array<std::size_t, 3> first{};
    std::array<std::size_t, 3> last{};
    for (std::size_t axis = sizes_.size(); axis-- > 0;) {
      const std::size_t place = cell / cell_step_[axis];
      cell %= cell_step_[axis];
      first[axis] = place == 0 ? 0 : (place - 1) / 2;
      last[axis] = std::min<std::size_t>(place / 2, sizes_[axis] - 1);
    }
    for (std::size_t z = first[2]; z <= last[2]; ++z) {
      for (std::size_t y = first[1]; y <= last[1]; ++y) {
        for (std::size_t x = first[0]; x <= last[0]; ++x) {
          const std::size_t voxel = z * voxel_step_[2] + y * voxel_step_[1] + x * voxel_step_[0];
          if (values_[voxel] == value) return static_cast<std::int32_t>(voxel);
        }
      }
    }
    throw Error("[cubical_persistence] a bug: no voxel has the value of a cell");
  }

 private:
  std::span<const float> values_;
  std::vector<unsigned> sizes_;
  std::array<std::size_t, 3> cell_step_{};
  std::array<std::size_t, 3> voxel_step_{};
};

bool comes_before(const PersistentPair& a, const PersistentPair& b) {
  return std::make_tuple(b.death - b.birth, a.creator, a.destroyer) <
         std::make_tuple(a.death - a.birth, b.creator, b.destroyer);
}

}  // namespace

CubicalPersistence cubical_persistence(std::span<const float> values, const Shape& shape) {
  require_volume(values, shape);
  const Grid grid(values, shape);
  Complex complex(grid.sizes(), {values.begin(), values.end()});
  Cohomology cohomology(complex);
  cohomology.init_coefficients(2);
  cohomology.compute_persistent_cohomology();
  CubicalPersistence found;
  for (const auto& [creator, destroyer, characteristic] : cohomology.get_persistent_pairs()) {
    const float birth = complex.filtration(creator);
    if (destroyer == Complex::null_simplex()) {
      found.essential_birth = birth;
      found.essential_creator = grid.voxel(creator, birth);
      continue;
    }
    const float death = complex.filtration(destroyer);
    found.pairs.at(complex.dimension(creator))
        .push_back({.birth = birth,
                    .death = death,
                    .creator = grid.voxel(creator, birth),
                    .destroyer = grid.voxel(destroyer, death)});
  }
  for (std::vector<PersistentPair>& pairs : found.pairs)
    std::sort(pairs.begin(), pairs.end(), comes_before);
  return found;
}

namespace {

// Squares of differences, and their derivatives.
template <typename Real>
class Costs {
 public:
  Costs(std::span<const Real> p, std::span<Real> gradient) : p_(p), gradient_(gradient) {}

  double sum() const { return sum_; }

  void add(double constant) { sum_ += constant; }

  void pull(std::int32_t voxel, double towards) {
    const double apart = p(voxel) - towards;
    sum_ += apart * apart;
    change(voxel, 2.0 * apart);
  }

  void pull_together(std::int32_t one, std::int32_t other) {
    const double apart = p(one) - p(other);
    sum_ += apart * apart;
    change(one, 2.0 * apart);
    change(other, -2.0 * apart);
  }

 private:
  double p(std::int32_t voxel) const {
    return static_cast<double>(p_[static_cast<std::size_t>(voxel)]);
  }
  void change(std::int32_t voxel, double by) {
    gradient_[static_cast<std::size_t>(voxel)] += static_cast<Real>(by);
  }

  std::span<const Real> p_;
  std::span<Real> gradient_;
  double sum_ = 0.0;
};

// Of one dimension; `kept` of them are to stay.
template <typename Real>
void judge(const std::vector<PersistentPair>& pairs, std::int64_t kept, Costs<Real>& costs) {
  std::int64_t rank = 0;
  for (const PersistentPair& pair : pairs) {
    if (rank++ < kept) {
      costs.pull(pair.creator, 1.0);
      costs.pull(pair.destroyer, 0.0);
    } else {
      costs.pull_together(pair.creator, pair.destroyer);
    }
  }
  costs.add(.5 * static_cast<double>(std::max<std::int64_t>(kept - rank, 0)));
}

template <typename Real>
void require_fit(const TopologyCrop<Real>& crop, std::size_t gradients) {
  for (const std::int64_t number : crop.betti)
    if (number < 0)
      throw ConfigError("[topology_loss] Betti numbers must not be negative, got " +
                        std::to_string(number));
  if (gradients != crop.probabilities.size())
    throw ConfigError("[topology_loss] a derivative for each of " +
                      std::to_string(crop.probabilities.size()) +
                      " probabilities is needed, there is room for " + std::to_string(gradients));
}

}  // namespace

template <typename Real>
double topology_cost(const TopologyCrop<Real>& crop, std::span<Real> gradient) {
  require_fit(crop, gradient.size());
  std::fill(gradient.begin(), gradient.end(), Real(0));
  std::vector<float> filtration;
  filtration.reserve(crop.probabilities.size());
  for (const Real p : crop.probabilities) {
    if (!std::isfinite(p)) return std::numeric_limits<double>::quiet_NaN();
    filtration.push_back(static_cast<float>(Real(1) - p));
  }
  const CubicalPersistence found = cubical_persistence(filtration, crop.shape);
  Costs<Real> costs(crop.probabilities, gradient);
  // The component that never ends is the longest.
  costs.pull(found.essential_creator, crop.betti[0] > 0 ? 1.0 : 0.0);
  judge(found.pairs[0], std::max<std::int64_t>(crop.betti[0] - 1, 0), costs);
  judge(found.pairs[1], crop.betti[1], costs);
  judge(found.pairs[2], crop.betti[2], costs);
  return costs.sum();
}

template HEADRACE_API double topology_cost(const TopologyCrop<float>&, std::span<float>);
template HEADRACE_API double topology_cost(const TopologyCrop<double>&, std::span<double>);

}  // namespace headrace::inline v1::models
