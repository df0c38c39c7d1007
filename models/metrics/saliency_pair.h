#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace headrace::inline v1::models {

/// What is done to a prediction before it is measured: nothing, or (p - least) / (largest - least),
/// which leaves a picture of one value as it is. PySODMetrics' `normalize=True` is the latter,
/// after a division of 8-bit values by 255.
enum class SaliencyRange : unsigned char { as_it_is, min_max };

/// Sides of a picture in pixels.
struct SaliencySize {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

/// A prediction of where the object of a picture is, and the mask that says where: what the
/// measures of camouflaged and salient objects compare. Holds 9 bytes a pixel; read by any number
/// of threads.
class HEADRACE_API SaliencyPair {
 public:
  /// `prediction` and `mask` (0, and 1 for the object) hold `size.height` rows of `size.width`.
  /// Throws DataError for other lengths, a picture without pixels or with 2^31 and more, other
  /// masks, values that are no finite numbers, and those outside [0, 1] once they are in their
  /// range.
  SaliencyPair(std::span<const double> prediction, std::span<const std::uint8_t> mask,
               SaliencySize size, SaliencyRange range);
  SaliencyPair(std::span<const float> prediction, std::span<const std::uint8_t> mask,
               SaliencySize size, SaliencyRange range);

  std::int64_t height() const { return size_.height; }
  std::int64_t width() const { return size_.width; }
  std::int64_t pixels() const { return size_.height * size_.width; }
  std::int64_t object_pixels() const { return object_; }
  /// Whether the mask has no object, or nothing else.
  bool is_one_sided() const { return object_ == 0 || object_ == pixels(); }
  /// In [0, 1], row by row.
  std::span<const double> prediction() const { return prediction_; }
  /// 0 and 1, row by row.
  std::span<const std::uint8_t> mask() const { return mask_; }
  /// Of all predicted values.
  double mean() const { return mean_; }

 private:
  void check_mask(std::size_t values);
  void bring_into(SaliencyRange range);
  void check_prediction() const;

  SaliencySize size_;
  std::int64_t object_ = 0;
  double mean_ = 0.0;
  std::vector<double> prediction_;
  std::vector<std::uint8_t> mask_;
};

/// Mean absolute error.
HEADRACE_API double mean_absolute_error(const SaliencyPair& pair);

}  // namespace headrace::inline v1::models

namespace headrace::inline v1::models::detail {

/// What the saliency measures add to divisors, numpy's `spacing(1)`.
inline constexpr double divisor_eps = std::numeric_limits<double>::epsilon();

}  // namespace headrace::inline v1::models::detail
