#pragma once

#include <headrace/loaders/image/png_reader.h>

#include <array>
#include <vector>

namespace headrace::inline v1::app {

/// A picture at full size and at 1/2, 1/4, ... of it, to be sampled at any scale without
/// aliasing. Colours are multiplied by alpha, so that what is transparent has no colour.
/// Thread-safe.
class PictureLevels {
 public:
  /// Red, green, blue, alpha from 0 to 255; the colours are multiplied by alpha / 255.
  using Pixel = std::array<double, 4>;

  /// From colours that are not multiplied yet.
  explicit PictureLevels(RgbaPicture picture);

  int width() const { return levels_.front().width; }
  int height() const { return levels_.front().height; }
  /// The level for samples that lie `step` pixels apart.
  int level_for(double step) const;
  /// The level's value at a point, in pixels of the full size (the first pixel's centre is at 0.5,
  /// 0.5), from the four pixels around it. Outside the picture all is 0.
  Pixel at(double x, double y, int level) const;
  /// Halves the picture's full size so often; at least one level stays.
  void drop_levels(int count);

 private:
  std::vector<RgbaPicture> levels_{};
};

}  // namespace headrace::inline v1::app
