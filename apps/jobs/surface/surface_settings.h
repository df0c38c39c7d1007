#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/apps/task/clean_labels.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The section `decision`: ways to make labels of scores, of which the validation takes the best.
struct DecisionSettings {
  /// Least probabilities that count.
  std::vector<double> thresholds{0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8};
  std::vector<double> smooth{0.0, 1.0};      ///< deviations of the Gaussian before, voxels
  std::vector<std::int64_t> smallest{0};     ///< voxels of a component that stays
  std::vector<std::string> keep{"largest"};  ///< components: "all", "largest"
  std::vector<int> closing{0};               ///< radii of the ball, voxels
};

/// Its keys.
void describe(Fields& fields, DecisionSettings& settings);

/// Throws ConfigError for an empty list, for values out of order and for unknown words.
void check(const DecisionSettings& settings);

/// All combinations, those that change least first: of equal ones the first is taken.
std::vector<VolumeDecision> candidates_of(const DecisionSettings& settings);

/// The section `score`: what the test is measured with.
struct ScoreSettings {
  std::vector<double> tolerances{1.0, 2.0, 3.0};  ///< voxels, of the surface Dice
};

void describe(Fields& fields, ScoreSettings& settings);

/// The tolerance of the leaderboard's score, which is always measured.
inline constexpr double leaderboard_tolerance = 2.0;

/// Throws ConfigError for an empty list and for tolerances that are not above 0, each once.
void check(const ScoreSettings& settings);

/// "surface_dice_2" of a tolerance of 2, "surface_dice_0.5" of a half.
std::string figure_of(double tolerance);

}  // namespace headrace::inline v1::app
