#include <headrace/models/metrics/detail/octant_topology.h>
#include <headrace/models/metrics/topology_score.h>

#include <cstddef>

#include <oneapi/tbb/parallel_for.h>

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
