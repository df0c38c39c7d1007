#pragma once

#include <headrace/engine/base/export.h>

#include <array>
#include <cstdint>
#include <span>

namespace headrace::inline v1::models {

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
