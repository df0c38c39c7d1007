#pragma once

#include <headrace/apps/task/volume_settings.h>
#include <headrace/augment/volume/grid_extent.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace headrace::inline v1::app {

/// How scores of a whole volume become labels: in this order they are smoothed, decided, and what
/// is labelled is cleaned.
struct VolumeDecision {
  /// Standard deviation of the Gaussian that scores are smoothed with, in their voxels; 0: none.
  double smooth = 0.0;
  std::optional<double> threshold{};  ///< of one mask; none: the best class
  std::int64_t smallest = 0;          ///< voxels of a component that stays; 0: all stay
  bool largest_only = false;          ///< of each class the largest component
  int closing = 0;                    ///< radius of the ball, voxels; 0: none
  /// These voxels are those of the prepared volume, else of its files.
  bool of_prepared = false;

  friend bool operator==(const VolumeDecision&, const VolumeDecision&) = default;
};

/// As `predict` says: plain classes, unsmoothed.
VolumeDecision decision_of(const VolumePredictSettings& predict);

/// What a decision is, for a person: "smoothed by 1, above 0.35, largest component".
std::string to_string(const VolumeDecision& decision);

/// The same for labels whose voxels are so many times as long as those that the decision is about,
/// along z, y, x: components have as much volume, the ball the mean radius.
VolumeDecision on_grid(VolumeDecision decision, const std::array<double, 3>& ratio);

/// Small components go (or all but the largest of a class), then each class is closed. Throws
/// ConfigError for 2^31 voxels or more.
void clean_labels(std::span<std::uint8_t> labels, const GridExtent& extent,
                  const VolumeDecision& decision);
void clean_labels(std::span<std::int16_t> labels, const GridExtent& extent,
                  const VolumeDecision& decision);

}  // namespace headrace::inline v1::app
