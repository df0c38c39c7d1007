#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/image/image_header.h>

#include <array>
#include <string>
#include <variant>

namespace headrace::inline v1 {

/// The whole picture, which must have just this size: nothing is resized.
struct WholeImage {
  int height = 0;
  int width = 0;
};

/// torchvision's RandomResizedCrop: area uniform in `scale` of the picture's, ratio (width /
/// height) log-uniform in `ratio`, ten tries at a fitting rectangle, then the central one closest
/// to the ratios; resized to height x width.
struct RandomResizedCrop {
  int height = 224;
  int width = 224;
  std::array<double, 2> scale = {0.08, 1.0};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
};

/// The whole picture resized to height x width, whatever its ratio.
struct ResizeTo {
  int height = 224;
  int width = 224;
};

/// torchvision's Resize(resize) and CenterCrop((height, width)) in one pass: the shorter side
/// becomes `resize`, the longer one keeps the ratio (rounded down), and the central height x width
/// of that is taken.
struct ResizedCenterCrop {
  int resize = 256;
  int height = 224;
  int width = 224;
};

/// What part of a picture becomes a sample, and how large.
using ImageGeometry = std::variant<WholeImage, RandomResizedCrop, ResizeTo, ResizedCenterCrop>;

/// A part of a picture in shown pixels, fractions allowed, and the pixels that may be looked at for
/// it.
struct ImageWindow {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  Region bounds;
};

/// Height and width of the samples.
HEADRACE_API std::array<int, 2> size_of(const ImageGeometry& geometry);

/// Throws ConfigError naming the parameter and `who` for sizes, scales or ratios that cannot be
/// right.
HEADRACE_API void check(const ImageGeometry& geometry, const std::string& who);

/// The window for a picture of `width` x `height` shown pixels. Only RandomResizedCrop draws. The
/// same on every machine: nothing but additions, products, quotients and square roots. Throws
/// DataError where the picture does not suit.
HEADRACE_API ImageWindow place(const ImageGeometry& geometry, int width, int height,
                               Random& random);

}  // namespace headrace::inline v1
