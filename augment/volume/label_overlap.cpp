#include <headrace/augment/volume/label_overlap.h>
#include <headrace/engine/base/error.h>

#include <cmath>
#include <limits>
#include <string>

namespace headrace::inline v1 {
namespace {

double share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// The label as a class.
std::size_t class_of(std::int64_t label, std::int64_t classes, const char* whose) {
  if (label >= 0 && label < classes) return static_cast<std::size_t>(label);
  throw DataError(std::string("[dice] labels ") + whose + " must be 0 to " +
                  std::to_string(classes - 1) + ", got " + std::to_string(label));
}

template <class Label>
std::vector<ClassOverlap> count(std::span<const Label> predicted, std::span<const Label> truth,
                                std::int64_t classes, std::optional<std::int64_t> ignore) {
  if (predicted.size() != truth.size()) {
    throw ConfigError("[dice] a prediction must have as many voxels as the truth's " +
                      std::to_string(truth.size()) + ", got " + std::to_string(predicted.size()));
  }
  if (classes < 1)
    throw ConfigError("[dice] there must be classes, got " + std::to_string(classes));
  std::vector<ClassOverlap> overlaps(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (ignore && truth[i] == *ignore) continue;
    const std::size_t is = class_of(truth[i], classes, "of the truth");
    const std::size_t said = class_of(predicted[i], classes, "that are predicted");
    if (is == said) {
      ++overlaps[is].hits;
    } else {
      ++overlaps[is].misses;
      ++overlaps[said].false_alarms;
    }
  }
  return overlaps;
}

}  // namespace

double ClassOverlap::dice() const noexcept {
  return share(2 * hits, 2 * hits + false_alarms + misses);
}

double ClassOverlap::iou() const noexcept {
  return share(hits, hits + false_alarms + misses);
}

std::vector<ClassOverlap> label_overlaps(std::span<const std::uint8_t> predicted,
                                         std::span<const std::uint8_t> truth, std::int64_t classes,
                                         std::optional<std::int64_t> ignore) {
  return count(predicted, truth, classes, ignore);
}

std::vector<ClassOverlap> label_overlaps(std::span<const std::int16_t> predicted,
                                         std::span<const std::int16_t> truth, std::int64_t classes,
                                         std::optional<std::int64_t> ignore) {
  return count(predicted, truth, classes, ignore);
}

double mean_dice(std::span<const ClassOverlap> overlaps, std::int64_t first) {
  double sum = 0.0;
  std::int64_t there = 0;
  for (auto i = static_cast<std::size_t>(first < 0 ? 0 : first); i < overlaps.size(); ++i) {
    const double dice = overlaps[i].dice();
    if (std::isnan(dice)) continue;
    sum += dice;
    ++there;
  }
  return there == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(there);
}

}  // namespace headrace::inline v1
