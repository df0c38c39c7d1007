#include <headrace/engine/base/error.h>
#include <headrace/models/losses/critical_voxels.h>
#include <headrace/models/losses/cubical_persistence.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace headrace::inline v1::models {

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
