#pragma once

#include <headrace/apps/task/clean_labels.h>
#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/label_overlap.h>

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::app {

/// Probabilities of a whole volume and what is true of it, [z, y, x].
struct JudgedVolume {
  std::span<const float> scores{};
  std::span<const std::uint8_t> truth{};  ///< 1 the surface, 0 not
  GridExtent extent{};
  std::uint8_t ignore = 2;  ///< of the truth: counts nowhere
};

/// What labels of a volume come to.
struct SheetFigures {
  double surface_dice = 0.0;  ///< at the leaderboard's tolerance
  /// Of voxels, not of areas: the share of both masks' voxels that lie within that tolerance of
  /// the other one's.
  double voxel_dice = 0.0;
  ClassOverlap overlap{};
};

/// Labels of these scores.
std::vector<std::uint8_t> labels_of(const JudgedVolume& volume, const VolumeDecision& decision);

/// Figures of each way to decide. In parallel over at most four of them, each with a copy of the
/// labels; of smoothed scores one copy at a time. The same values for any number of threads.
std::vector<SheetFigures> figures_of(const JudgedVolume& volume,
                                     std::span<const VolumeDecision> decisions);

/// Memory of figures_of(), with the volume's own on the host.
std::size_t figures_bytes(const GridExtent& extent, std::span<const VolumeDecision> decisions);

}  // namespace headrace::inline v1::app
