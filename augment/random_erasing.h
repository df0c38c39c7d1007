#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/tensor/field.h>

#include <array>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Erases a random rectangle of a picture, uint8 [H, W, C], with probability p (Zhong, Zheng, Kang,
/// Li, Yang: "Random Erasing Data Augmentation", AAAI 2020; torchvision's RandomErasing: area
/// uniform in `scale` of the picture's, ratio height / width log-uniform in `ratio`, ten tries at a
/// rectangle smaller than the picture, else nothing). Masks stay as they are.
struct HEADRACE_API RandomErasing {
  double p = 0.5;
  std::array<double, 2> scale = {0.02, 0.33};
  std::array<double, 2> ratio = {0.3, 3.3};
  std::vector<double> value = {0};  ///< levels 0 to 255: one, or one a channel
  /// Every value drawn from a normal distribution instead (in 4096 steps), held within 0 to 255,
  /// with these levels: what ImageNet's Normalize turns into mean 0 and deviation 1, as
  /// torchvision's "random" is.
  bool noise = false;
  std::vector<double> noise_mean = {123.675, 116.28, 103.53};  ///< one, or one a channel
  std::vector<double> noise_deviation = {58.395, 57.12, 57.375};
  std::string field = "image";

  /// A rectangle in pixels.
  struct Box {
    std::int64_t top = 0;
    std::int64_t left = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
  };

  std::string name() const { return "erase"; }
  /// Throws ConfigError for parameters that cannot be right and for fields that are no pictures.
  Schema schema(const Schema& in) const;
  void operator()(Sample& sample, Random& random) const;
  /// Draws a rectangle for a picture of that size; one of height 0 where ten tries failed.
  Box draw(std::int64_t height, std::int64_t width, Random& random) const;
  /// Erases a given rectangle; `random` is drawn from where `noise` says so.
  void erase(Sample& sample, const Box& box, Random& random) const;
};

}  // namespace headrace::inline v1
