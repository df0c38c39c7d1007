#pragma once

#include <headrace/training/metric.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::app {

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
