#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/confusion_accumulator.h>
#include <headrace/training/metric.h>

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
  bool learns_ = true;
  models::ConfusionAccumulator counts_;
};

}  // namespace headrace::inline v1::training
