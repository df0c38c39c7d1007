#pragma once

#include <headrace/engine/base/export.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::models {

/// A feature that is there from one value of a filtration until another.
struct PersistentPair {
  float birth = 0.0f;
  float death = 0.0f;          ///< above birth
  std::int32_t creator = 0;    ///< voxel of value birth, in memory order
  std::int32_t destroyer = 0;  ///< voxel of value death, likewise
};

struct CubicalPersistence {
  /// By dimension: components, tunnels, cavities. Longest first, equally long ones by creator, then
  /// by destroyer.
  std::array<std::vector<PersistentPair>, 3> pairs = {};
  /// The component that never ends, from the least value on; a box has no other such feature.
  float essential_birth = 0.0f;
  std::int32_t essential_creator = 0;
};

/// Persistent homology of a volume with coefficients of Z/2: of its sublevel sets, unions of closed
/// voxels (the T-construction), so that voxels that share a corner are one component (26
/// neighbours) and what is above is divided by faces (6). `values` are `[depth, height, width]`,
/// row-major, in `shape`; of a picture one extent is 1. Pairs of no length are left out.
///
/// A pair's cells are led back to voxels: of those that hold the cell and have its value, of which
/// there is at least one, the first in memory order. Which of equal cells is a pair's, and which of
/// equally old components goes on, depends on their places alone: equal volumes give equal pairs on
/// any thread.
///
/// Computed by GUDHI (Maria, Boissonnat, Glisse and Yvinec, 2014) on the calling thread: 48^3
/// voxels take 0.4 to 0.6 s on a core of an AMD EPYC, and 45 MiB, noise as well as sheets.
/// Thread-safe. Throws `ConfigError` for a shape that is not that of the values, `DataError` for
/// values that are not finite.
HEADRACE_API CubicalPersistence cubical_persistence(std::span<const float> values,
                                                    const std::array<std::int64_t, 3>& shape);

/// Probabilities of a foreground, and the topology that it should have.
template <typename Real>
struct TopologyCrop {
  std::span<const Real> probabilities = {};  ///< `[depth, height, width]`, row-major
  std::array<std::int64_t, 3> shape = {};
  std::array<std::int64_t, 3> betti = {};  ///< components, tunnels, cavities of the target
};

/// What the topology of a crop costs (Hu, Li, Samaras and Chen, NeurIPS 2019), by the persistence
/// of `f = 1 - p` in float (`cubical_persistence`). In each dimension k the longest features, as
/// many as the target has, are to be kept, and cost `birth^2 + (death - 1)^2`; all others are to
/// go, and cost
/// `(birth - death)^2`. The component that never ends dies at 1. Where the target has more features
/// than there are, each that is missing costs 1/2, as (0, 1) is from the diagonal.
///
/// `gradient`, of the crop's size, is overwritten with the derivative by the probabilities: zero
/// but at the voxels that create or destroy a feature. Real is float or double. A probability that
/// is not finite makes the cost not a number, and the gradient zero. Thread-safe. Throws
/// `ConfigError` for a negative Betti number, and for sizes that do not fit.
template <typename Real>
HEADRACE_API double topology_cost(const TopologyCrop<Real>& crop, std::span<Real> gradient);

}  // namespace headrace::inline v1::models
