#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/metrics/s_measure.h>
#include <headrace/models/metrics/saliency_pair.h>
#include <headrace/models/metrics/threshold_measures.h>

#include <cstdint>
#include <map>

namespace headrace::inline v1::models {

/// How a prediction is made a mask for `SaliencyMeasures::overlap`.
struct MaskRule {
  double threshold = 0.5;
  Reached reached = Reached::above;
};

/// The measures of one picture.
struct SaliencyMeasures {
  double mae = 0.0;
  SMeasure s{};
  ThresholdCurve e{};
  ThresholdCurve f{};
  double weighted_f = 0.0;
  MaskOverlap overlap{};  ///< at the rule's threshold
};

/// All measures of a picture, as PySODMetrics 1.6.2 has them. Beside the pair's 9 bytes a pixel it
/// takes 16 while it runs.
HEADRACE_API SaliencyMeasures saliency_measures(const SaliencyPair& pair,
                                                const MaskRule& rule = {});

/// Means over the pictures of a data set; of curves first the mean curve, then its mean and
/// maximum.
struct SaliencyFigures {
  std::int64_t pictures = 0;
  double mae = 0.0;
  double s_measure = 0.0;
  double e_mean = 0.0;
  double e_max = 0.0;
  double e_adaptive = 0.0;
  double f_mean = 0.0;
  double f_max = 0.0;
  double f_adaptive = 0.0;
  double weighted_f = 0.0;
  double iou = 0.0;
  double dice = 0.0;
};

/// Gathers pictures' measures, 4 KiB each, by the pictures' numbers, and sums in the order of
/// those: the figures are the same, bit for bit, in whatever order pictures come and however many
/// threads have gathered them, each with its own. Not thread-safe.
class HEADRACE_API SaliencyMeans {
 public:
  /// Throws DataError for a number that there is.
  void add(std::int64_t picture, const SaliencyMeasures& measures);
  /// What another thread has gathered. Throws likewise; then nothing is added.
  void add(const SaliencyMeans& other);
  std::int64_t pictures() const { return static_cast<std::int64_t>(of_picture_.size()); }
  /// NaN without a picture.
  SaliencyFigures figures() const;
  /// Of each picture, by its number.
  const std::map<std::int64_t, SaliencyMeasures>& by_picture() const { return of_picture_; }

 private:
  void require_new(std::int64_t picture) const;

  std::map<std::int64_t, SaliencyMeasures> of_picture_;
};

}  // namespace headrace::inline v1::models
