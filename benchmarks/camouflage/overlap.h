#pragma once

#include <headrace/benchmarks/camouflage/pictures.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::bench {

/// A grey level a pixel: how likely it is the object's.
using Levels = std::vector<std::uint8_t>;

/// Intersection over union of `marked` (0 and 1) and the mask.
double iou(std::span<const std::uint8_t> marked, const ObjectMask& mask);

/// The same where `levels` reach each of the 256 thresholds.
std::array<double, 256> iou_at_thresholds(std::span<const std::uint8_t> levels,
                                          const ObjectMask& mask);

/// Answers by one threshold for all pictures.
class ThresholdAnswers {
 public:
  void add(const std::array<double, 256>& of_picture) { of_picture_.push_back(of_picture); }
  /// That with the best mean over the pictures, the lowest of equally good ones.
  int best_threshold() const;
  /// Of each picture.
  std::vector<double> ious(int threshold) const;

 private:
  std::vector<std::array<double, 256>> of_picture_;
};

double mean_of(std::span<const double> values);

}  // namespace headrace::inline v1::bench
