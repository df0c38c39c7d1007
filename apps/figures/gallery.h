#pragma once

#include <headrace/apps/plot/canvas.h>
#include <headrace/apps/plot/picture_grid.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A record of the test with what is true of it and what was predicted.
struct JudgedPicture {
  std::string file{};
  Pixels picture{};         ///< as the network sees it
  std::string truth{};      ///< "cat"; of masks empty
  std::string predicted{};  ///< "dog 0.93", or of masks "Dice 0.41"
  double badness = 0.0;     ///< 0 for what is right: probability of what is wrong, or 1 - Dice
  std::vector<std::uint8_t> true_mask{};       ///< classes of its pixels; 255 counts nowhere
  std::vector<std::uint8_t> predicted_mask{};  ///< likewise; both empty where there are none
};

/// What is shown of a test.
struct Gallery {
  std::int64_t records = 0;            ///< that were looked at
  std::vector<JudgedPicture> worst{};  ///< the worst first; of classes only those that are wrong
  std::vector<JudgedPicture> some{};   ///< from all over the test, in its order
  std::vector<std::string> classes{};  ///< names, for masks
};

/// `some` in a strip, for results.png.
PictureGrid strip_of(const Gallery& gallery);

/// The same by itself, as a PNG.
std::vector<std::byte> some_png(const Gallery& gallery);

/// The worst mistakes as a PNG: each picture with its name, what is true and what was predicted; of
/// masks the picture, the true mask and the predicted one.
std::vector<std::byte> worst_png(const Gallery& gallery);

}  // namespace headrace::inline v1::app
