#pragma once

#include <headrace/apps/predict/mask_file.h>
#include <headrace/apps/task/mask_settings.h>
#include <headrace/training/metrics/nan_cases.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <span>
#include <utility>

namespace headrace::inline v1::app {

/// The class of each pixel of one picture, uint8 `[height, width]` on the CPU, by its scores `[C,
/// h, w]`: these are resized bilinearly (torch's `interpolate` with align_corners=False) and then
/// decided by the recipe, some rows at a time, so that a large picture takes its mask and h
/// rows of its width, not all of its scores.
at::Tensor classes_at(const training::Recipe& recipe, const at::Tensor& scores,
                      std::span<const training::TensorMap> fitted, std::int64_t height,
                      std::int64_t width);

/// Writes predictions of pixels as masks of their pictures' sizes.
class MaskWriter {
 public:
  MaskWriter(const training::Recipe& recipe, MaskFolder folder, MaskFormat format)
      : recipe_(recipe), folder_(std::move(folder)), format_(std::move(format)) {}

  /// Scores `[N, C, h, w]` with their origins; absent rows are left out, and what could not be read
  /// has no mask. Throws ConfigError for
  /// scores of another kind, and what MaskFolder throws.
  void add(const training::Cases& cases, std::span<const training::TensorMap> fitted);

  /// Pictures, those that have no mask among them.
  std::int64_t count() const { return folder_.count(); }
  /// Removes masks of before of those that have none now.
  void finish() { folder_.finish(); }
  /// Pictures that have no mask, since a score of them is NaN.
  const training::NoNumbers& no_numbers() const { return nothing_; }

 private:
  const training::Recipe& recipe_;
  MaskFolder folder_;
  MaskFormat format_;
  training::NoNumbers nothing_;
};

}  // namespace headrace::inline v1::app
