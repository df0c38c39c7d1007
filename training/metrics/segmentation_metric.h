#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/models/metrics/probability_histogram.h>
#include <headrace/models/metrics/threshold.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::training {

struct SegmentationOptions {
  std::vector<std::string> classes = {};    ///< names, for the figures
  std::optional<std::int64_t> ignore = {};  ///< value of pixels that do not count
  bool background = false;                  ///< class 0 counts in the means
  std::string target = {};                  ///< name of the mask; empty: there is one target
};

/// Figures of pixels or voxels of one class each, class indices `[N, ...]` or `[N, 1, ...]` of
/// integers, against scores `[N, classes, ...]`: "mean_dice" and "mean_iou" over the classes that
/// are there or predicted, "pixel_accuracy", and "dice_CLASS", "iou_CLASS" of each class, which are
/// not numbers where it is neither. All from the counts of all pixels together, not from means of
/// images. While a network learns, of the values of `Output::main`: "pixel_accuracy" and
/// "mean_dice". Rows that are absent do not count.
class HEADRACE_API SegmentationMetric final : public Metric {
 public:
  /// Throws `ConfigError` for fewer than two classes.
  explicit SegmentationMetric(SegmentationOptions options);

  void add(const Cases& cases) override;
  Figures result() override;
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

  /// Pixels by true and predicted class. Waits for the device. Throws `DataError` for targets that
  /// are neither a class nor to be ignored.
  std::optional<models::ConfusionMatrix> confusion() const override { return counts_.matrix(); }

 private:
  SegmentationOptions options_;
  bool learns_ = false;
  models::ConfusionAccumulator counts_;
};

struct BinarySegmentationOptions {
  std::vector<std::string> masks = {"foreground"};  ///< names of the channels, for the figures
  std::optional<std::int64_t> ignore = {};          ///< value of pixels that do not count
  /// Each mask begins at a threshold of its own, one of 0, 1/256 .. 255/256, which a validation
  /// chooses by `goal` over all its pixels, and which is kept for the test; else at .5.
  bool fit_thresholds = false;
  models::ThresholdGoal goal = models::ThresholdGoal::f1;
  std::string target = {};  ///< name of the mask; empty: there is one target
};

/// Figures of pixels or voxels of one mask, or of several that exclude nothing, targets `[N, masks,
/// ...]` (of one mask also `[N, ...]`) of which .5 and more is there, against probabilities `[N,
/// masks, ...]`: "mean_dice" and "mean_iou" over the masks that are there or predicted,
/// "pixel_accuracy", "dice_MASK" and "iou_MASK" of each, which are not numbers where it is neither,
/// and "threshold_MASK" where they are fitted. All from the counts of all pixels together. While a
/// network learns, of the logits in `Output::main`: "mean_dice" and "pixel_accuracy" at .5. Rows
/// that are absent do not count.
class HEADRACE_API BinarySegmentationMetric final : public Metric {
 public:
  /// Thresholds that are to be fitted are those of `fitted`, where it has "thresholds"; a test that
  /// is given none chooses its own, which flatters it. Throws
  /// `ConfigError` for no mask and for thresholds of other masks.
  explicit BinarySegmentationMetric(BinarySegmentationOptions options,
                                    const TensorMap& fitted = {});

  void add(const Cases& cases) override;
  Figures result() override;
  /// "thresholds" `[masks]` float64, after `result()`, where they are fitted.
  TensorMap fitted() const override;
  TensorMap state() const override;
  void restore(const TensorMap& state) override;

  /// Decisions about the pixels of each mask, classes 0 and 1, after `result()`.
  const std::vector<models::ConfusionMatrix>& confusions() const { return confusions_; }

 private:
  double threshold_of(std::int64_t mask) const;

  BinarySegmentationOptions options_;
  std::vector<double> given_;       // by a validation
  std::vector<double> thresholds_;  // that decided, where they are fitted
  bool learns_ = false;
  models::ProbabilityHistogram counts_;
  std::vector<models::ConfusionMatrix> confusions_;
};

/// Where each mask is, bool in the shape of probabilities `[N, masks, ...]`: from its threshold in
/// the "thresholds" of `fitted` on, otherwise from .5 on.
HEADRACE_API at::Tensor decided_masks(const at::Tensor& scores, const TensorMap& fitted);

}  // namespace headrace::inline v1::training
