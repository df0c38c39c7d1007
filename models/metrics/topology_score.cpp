#include <headrace/augment/volume/betti.h>
#include <headrace/augment/volume/voxel_runs.h>
#include <headrace/models/metrics/critical_cells.h>
#include <headrace/models/metrics/mask_pair.h>
#include <headrace/models/metrics/topology_score.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <oneapi/tbb/parallel_for.h>

namespace headrace::inline v1::models::detail {
namespace {

/// A volume's holes, and where its components and the parts of its background lie.
struct Holes {
  explicit Holes(VoxelBits voxels) : bits(std::move(voxels)) {
    betti.components = objects.find_objects(bits, Neighbours::faces);
    betti.cavities = background.find_background(bits, Neighbours::corners);
    betti.tunnels =
        betti.components + betti.cavities - euler_characteristic(bits, Neighbours::faces);
  }
  VoxelBits bits;
  VoxelRuns objects{};
  VoxelRuns background{};
  BettiNumbers betti{};
};

/// Calls `use(outer, inner)` with the components of each run of `inner` and of the run of `outer`
/// that it lies in.
template <class Use>
void for_nested(const VoxelRuns& outer, const VoxelRuns& inner, const Use& use) {
  for (std::int64_t row = 0; row < inner.rows(); ++row) {
    std::size_t i = 0;
    for (std::size_t j = 0; j < inner.runs(row).size(); ++j) {
      while (outer.runs(row)[i].end < inner.runs(row)[j].end)
        ++i;
      use(outer.numbers(row)[i], inner.numbers(row)[j]);
    }
  }
}

std::int64_t shared_components(const Holes& prediction, const Holes& truth, const Holes& both) {
  std::vector<unsigned char> has(static_cast<std::size_t>(both.betti.components + 1));
  const auto mark = [&](const Holes& mask, unsigned char bit) {
    for_nested(both.objects, mask.objects, [&](std::int32_t outer, std::int32_t) {
      has[static_cast<std::size_t>(outer)] |= bit;
    });
  };
  mark(prediction, 1);
  mark(truth, 2);
  return std::ranges::count(has, 3);
}

/// Cavities of the masks that each cavity of their union lies in; 0 is outside.
struct CavityPairs {
  std::vector<std::int32_t> prediction;
  std::vector<std::int32_t> truth;
};

CavityPairs cavity_pairs(const Holes& prediction, const Holes& truth, const Holes& both) {
  const auto count = static_cast<std::size_t>(both.betti.cavities + 1);
  CavityPairs pairs{std::vector<std::int32_t>(count), std::vector<std::int32_t>(count)};
  const auto find = [&](const Holes& mask, std::vector<std::int32_t>& cavities) {
    for_nested(mask.background, both.background, [&](std::int32_t outer, std::int32_t inner) {
      cavities[static_cast<std::size_t>(inner)] = outer;
    });
  };
  find(prediction, pairs.prediction);
  find(truth, pairs.truth);
  return pairs;
}

/// Which cavities hang together: the sets that pairs join, that of what lies outside left out.
class CavityGroups {
 public:
  void join(std::int32_t prediction, std::int32_t truth) {
    // Both outsides are one.
    const std::int64_t a = find(prediction);
    const std::int64_t b = find(truth == 0 ? 0 : -std::int64_t{truth});
    if (a != b) parent_[a == 0 ? b : a] = a == 0 ? a : b;
  }
  std::int64_t count() {
    std::int64_t roots = 0;
    for (const auto& [member, parent] : parent_)
      roots += member == parent && member != 0 ? 1 : 0;
    return roots;
  }

 private:
  std::int64_t find(std::int64_t member) {
    auto at = parent_.try_emplace(member, member).first;
    while (at->second != at->first) {
      const auto up = parent_.find(at->second);
      at->second = up->second;
      at = up;
    }
    return at->first;
  }

  std::map<std::int64_t, std::int64_t> parent_{};  // a cavity of the truth is below 0
};

struct Bounds {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

Bounds matched_cavities(const CavityPairs& pairs) {
  CavityGroups groups;
  std::set<std::int32_t> prediction;
  std::set<std::int32_t> truth;
  for (std::size_t i = 1; i < pairs.truth.size(); ++i) {
    groups.join(pairs.prediction[i], pairs.truth[i]);
    if (pairs.prediction[i] == 0 || pairs.truth[i] == 0) continue;
    prediction.insert(pairs.prediction[i]);
    truth.insert(pairs.truth[i]);
  }
  return {groups.count(), static_cast<std::int64_t>(std::min(prediction.size(), truth.size()))};
}

/// What surely stays of a mask's tunnels in the union: its cells of dimension 2 fill a tunnel or
/// make a cavity, and cavities are counted.
std::int64_t kept_tunnels(const Holes& mask, const Holes& both) {
  const CriticalCells cells = critical_cells(mask.bits, both.bits);
  const std::int64_t cavities_made = both.betti.cavities - mask.betti.cavities + cells.count[3];
  const std::int64_t filled = cells.count[2] - cavities_made;
  return std::max<std::int64_t>(0, mask.betti.tunnels - filled);
}

TopologyCounts count(std::int64_t prediction, std::int64_t truth, std::int64_t both,
                     const Bounds& matched) {
  const std::int64_t estimate = std::min(prediction + truth - both, std::min(prediction, truth));
  return {.prediction = prediction,
          .truth = truth,
          .matched_least = matched.least,
          .matched = std::clamp(estimate, matched.least, matched.most),
          .matched_most = matched.most};
}

/// The counts of one part of the volume.
std::array<TopologyCounts, 3> octant_topology(const MaskPair& pair, const GridBox& box) {
  VoxelBits predicted;
  predicted.cut(pair.prediction(), box);
  VoxelBits real;
  real.cut(pair.truth(), box);
  VoxelBits united = predicted;
  united |= real;
  const Holes prediction(std::move(predicted));
  const Holes truth(std::move(real));
  const Holes both(std::move(united));
  const BettiNumbers& p = prediction.betti;
  const BettiNumbers& g = truth.betti;
  const BettiNumbers& u = both.betti;

  const std::int64_t shared =
      std::max<std::int64_t>(shared_components(prediction, truth, both) - 1, 0);
  const CavityPairs pairs = cavity_pairs(prediction, truth, both);
  Bounds tunnels{0, std::min({p.tunnels, g.tunnels, u.tunnels})};
  if (tunnels.most > 0) {
    const std::int64_t kept = kept_tunnels(prediction, both) + kept_tunnels(truth, both);
    tunnels.least = std::clamp<std::int64_t>(kept - u.tunnels, 0, tunnels.most);
  }
  const auto but_one = [](std::int64_t components) {
    return std::max<std::int64_t>(components - 1, 0);
  };
  return {
      count(but_one(p.components), but_one(g.components), but_one(u.components), {shared, shared}),
      count(p.tunnels, g.tunnels, u.tunnels, tunnels),
      count(p.cavities, g.cavities, u.cavities, matched_cavities(pairs))};
}

}  // namespace
}  // namespace headrace::inline v1::models::detail

namespace headrace::inline v1::models {
namespace {

GridBox octant_of(const GridExtent& extent, unsigned octant) {
  GridBox box;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const std::int64_t half = (extent[axis] + 1) / 2;
    const bool second = (octant >> (2 - axis) & 1U) != 0;
    box.begin[axis] = second ? half : 0;
    box.end[axis] = second ? extent[axis] : half;
  }
  return box;
}

double weighted(const TopologyScore& score, std::int64_t TopologyCounts::*matched) {
  constexpr std::array<double, 3> weights{0.34, 0.33, 0.33};
  double sum = 0.0;
  double weight = 0.0;
  for (std::size_t k = 0; k < 3; ++k) {
    const TopologyCounts& counts = score.dimensions[k];
    if (!counts.is_active()) continue;
    sum += weights[k] * counts.f1(counts.*matched);
    weight += weights[k];
  }
  return weight > 0.0 ? sum / weight : 1.0;
}

}  // namespace

double TopologyCounts::f1(std::int64_t of_matched) const {
  const auto predicted = static_cast<double>(prediction);
  if (truth == 0) return prediction == 0 ? 1.0 : 0.5 / (predicted + 0.5);
  return 2.0 * static_cast<double>(of_matched) / (predicted + static_cast<double>(truth));
}

TopologyScore topology_score(const MaskPair& pair) {
  std::array<std::array<TopologyCounts, 3>, 8> octants{};
  oneapi::tbb::parallel_for(0U, 8U, [&](unsigned octant) {
    const GridBox box = octant_of(pair.extent(), octant);
    octants[octant] = detail::octant_topology(pair, box);
  });
  TopologyScore score;
  for (const auto& octant : octants) {
    for (std::size_t k = 0; k < 3; ++k) {
      TopologyCounts& sum = score.dimensions[k];
      sum.prediction += octant[k].prediction;
      sum.truth += octant[k].truth;
      sum.matched_least += octant[k].matched_least;
      sum.matched += octant[k].matched;
      sum.matched_most += octant[k].matched_most;
    }
  }
  score.value = weighted(score, &TopologyCounts::matched);
  score.least = weighted(score, &TopologyCounts::matched_least);
  score.most = weighted(score, &TopologyCounts::matched_most);
  return score;
}

}  // namespace headrace::inline v1::models
