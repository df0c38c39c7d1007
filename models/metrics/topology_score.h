#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/mask_pair.h>

#include <array>
#include <cstdint>

namespace headrace::inline v1::models {

/// Holes of one dimension, over all octants, and how many of the prediction's are the truth's.
struct TopologyCounts {
  std::int64_t prediction = 0;
  std::int64_t truth = 0;
  std::int64_t matched_least = 0;  ///< surely
  std::int64_t matched = 0;        ///< estimated, within the bounds
  std::int64_t matched_most = 0;   ///< at most

  bool is_active() const { return prediction + truth > 0; }
  /// 2 matched / (prediction + truth); where the truth has none, 0.5 / (prediction + 0.5).
  double f1(std::int64_t of_matched) const;
};

/// How far a predicted mask has the holes of the true one where that has them.
struct TopologyScore {
  /// Components but one, tunnels, cavities.
  std::array<TopologyCounts, 3> dimensions{};
  double value = 1.0;  ///< of the estimates
  double least = 1.0;  ///< of the lower bounds
  double most = 1.0;   ///< of the upper bounds
};

/// The part of the Vesuvius surface score that Betti matching gives (Stucki et al.: "Topologically
/// Faithful Image Segmentation via Induced Matching of Persistence Barcodes", ICML 2023): the
/// volume is cut in 2 x 2 x 2 octants (of an odd side the first has one voxel more), in each of
/// which foreground hangs together by faces and background by corners; counts are summed over
/// octants; the score is the mean F1 of the active dimensions with the weights 0.34, 0.33, 0.33,
/// and 1 without any.
///
/// Matched are, with U the union of both masks: of components those of U that both have voxels in,
/// less one, which is exact. Of cavities between the groups of them that hang together where each
/// cavity of U lies in one of each mask, and the cavities of the mask with fewer that hold one of
/// U within a cavity of the other. Of tunnels between rP + rG - b1(U), where rP of a mask is what
/// surely stays of its tunnels in U (b1 less those that critical_cells() fills), and the least of
/// b1(P), b1(G), b1(U). Between these bounds the estimate is b(P) + b(G) - b(U), at most b(P) and
/// b(G). In parallel by the oneTBB arena that it is called in, the same values for any number of
/// threads.
HEADRACE_API TopologyScore topology_score(const MaskPair& pair);

}  // namespace headrace::inline v1::models
