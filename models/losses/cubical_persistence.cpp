#include <headrace/engine/base/error.h>
#include <headrace/models/losses/cubical_persistence.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>

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

}  // namespace headrace::inline v1::models
