#pragma once

#include <headrace/apps/jobs/camouflage/object_mask.h>
#include <headrace/models/metrics/saliency_measures.h>
#include <headrace/training/metric.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

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

}  // namespace headrace::inline v1::app
