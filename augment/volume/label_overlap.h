#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headrace::inline v1 {

/// Voxels of one class in a prediction and in the truth.
struct HEADRACE_API ClassOverlap {
  std::int64_t hits = 0;          ///< predicted and true (tp)
  std::int64_t false_alarms = 0;  ///< predicted alone (fp)
  std::int64_t misses = 0;        ///< true alone (fn)

  ClassOverlap& operator+=(const ClassOverlap& other) noexcept {
    hits += other.hits;
    false_alarms += other.false_alarms;
    misses += other.misses;
    return *this;
  }

  /// 2 hits / (2 hits + false alarms + misses); not a number where the class is in neither.
  double dice() const noexcept;
  /// hits / (hits + false alarms + misses), or not a number.
  double iou() const noexcept;
};

/// Counts of the classes 0 to `classes` - 1 of a case. Voxels whose truth is `ignore` do not count.
/// Throws ConfigError when the spans differ in length, and DataError for labels that are neither a
/// class nor to be ignored.
HEADRACE_API std::vector<ClassOverlap> label_overlaps(std::span<const std::uint8_t> predicted,
                                                      std::span<const std::uint8_t> truth,
                                                      std::int64_t classes,
                                                      std::optional<std::int64_t> ignore = {});
HEADRACE_API std::vector<ClassOverlap> label_overlaps(std::span<const std::int16_t> predicted,
                                                      std::span<const std::int16_t> truth,
                                                      std::int64_t classes,
                                                      std::optional<std::int64_t> ignore = {});

/// Mean Dice of classes from `first` on that are there or predicted, as nnU-Net passes over absent
/// ones; not a number where none is.
HEADRACE_API double mean_dice(std::span<const ClassOverlap> overlaps, std::int64_t first = 1);

}  // namespace headrace::inline v1
