#pragma once

#include <headrace/apps/jobs/surface/volume_figures_torch.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

struct SurfaceMetricOptions {
  /// Ways to make labels; the best by its mean surface Dice is chosen, of equal ones the first.
  std::vector<VolumeDecision> candidates{};
  /// Of the surface Dice beside the leaderboard's, where `score` is asked for.
  std::vector<double> tolerances{};
  /// The leaderboard's score and its parts, too. Of one candidate.
  bool score = false;
};

/// Figures of thin sheets in whole volumes, [1, 1, Z, Y, X] probabilities against labels uint8 [1,
/// Z, Y, X], each a mean over the volumes but for "dice" and "iou", which are of all voxels
/// together: "surface_dice_2", "voxel_dice_2" (`SheetFigures`), and, where the score is asked for,
/// "score" and "topology" with their bounds, "voi" in bits, and the surface Dice of the other
/// tolerances. Of no volume they are not numbers. `fitted()` is the
/// choice. Works on the host, volume by volume, of which it keeps none: it waits for the
/// device once for each.
class SurfaceMetric final : public training::Metric {
 public:
  /// Throws ConfigError without a candidate, and for several where the score is asked for.
  explicit SurfaceMetric(SurfaceMetricOptions options);

  void add(const training::Cases& cases) override;
  training::Figures result() override;
  /// "decision", float64 [5]: threshold, smooth, smallest, largest_only, closing; of no volume
  /// none.
  training::TensorMap fitted() const override;

 private:
  void add_score(const JudgedVolume& volume);
  std::size_t best() const;

  SurfaceMetricOptions options_;
  std::vector<SheetFigures> sums_;  // by candidate
  training::Figures score_sums_;
  std::int64_t volumes_ = 0;
};

/// What a validation has chosen; of several members' the median of each value. Where
/// nothing was chosen the candidate whose threshold is the nearest to one half.
VolumeDecision chosen_decision(std::span<const training::TensorMap> fitted,
                               const std::vector<VolumeDecision>& candidates);

}  // namespace headrace::inline v1::app
