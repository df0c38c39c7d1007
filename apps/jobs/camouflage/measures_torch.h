#pragma once

#include <headrace/apps/jobs/camouflage/object_mask.h>
#include <headrace/models/metrics/saliency_measures.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::app {

/// What the measures of an evaluation need of its pictures.
struct MaskMeasureOptions {
  double threshold = 0.5;  ///< from which score on a pixel is of the object
  /// The mask of a picture, by its number in the evaluation, in the size of its file. Any thread.
  std::function<ObjectMask(std::int64_t picture)> own_mask{};
  /// What each picture shows, by that number, such as the kind of animal; empty: nobody knows.
  std::vector<std::int64_t> groups{};
};

/// The published measures of camouflaged objects (models/metrics/saliency_measures.h), each picture
/// in the size of its mask's file: scores are resized bilinearly and stretched to [0, 1], not
/// rounded to 8 bits. "iou" and "dice" are of what is decided, scores as they are; "iou_low" is the
/// lower end of its one-sided 95 % interval from a bootstrap by group. Cases whose own sizes are
/// not known, and placeholders, are compared with their targets. A score that is no number counts
/// as 0. Works in the caller and a thread for each other core; waits for the device. Throws
/// DataError that names the mask.
class MaskMeasures final : public training::Metric {
 public:
  explicit MaskMeasures(MaskMeasureOptions options) : options_(std::move(options)) {}

  void add(const training::Cases& cases) override;
  training::Figures result() override;

 private:
  struct Picture;
  models::SaliencyMeasures measured(const Picture& picture) const;
  std::optional<double> lower_bound() const;

  MaskMeasureOptions options_;
  models::SaliencyMeans means_;
};

/// Figures of masks in the network's size, from the device's own sums: nothing waits before
/// result(). Of each picture, and then their mean: "iou" and "dice" of what is decided, from
/// `threshold` on (0 where there is no object, and none is found), and "mae", mean absolute
/// difference of scores that are stretched to [0, 1] (models/metrics/saliency_measures.h). While a
/// network of experts learns also "expert_entropy": how evenly they are used, of the level where
/// that is least, from 0 to 1.
class QuickMaskMetric final : public training::Metric {
 public:
  explicit QuickMaskMetric(double threshold) : threshold_(threshold) {}

  void add(const training::Cases& cases) override;
  training::Figures result() override;
  training::TensorMap state() const override;
  void restore(const training::TensorMap& state) override;

 private:
  double threshold_;
  at::Tensor sums_;  // [4] float64: iou, dice, mae, pictures
  at::Tensor load_;  // [levels, experts] float64: rows that each expert was given
};

}  // namespace headrace::inline v1::app
