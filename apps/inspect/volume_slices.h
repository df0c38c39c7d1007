#pragma once

#include <headrace/apps/plot/canvas.h>
#include <headrace/engine/tensor/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// Along z, y, x.
using Voxel = std::array<std::int64_t, 3>;

/// One channel of a volume and its label, to be looked at.
struct ShownVolume {
  /// In `labels`: what is none of the classes, as a label that counts nowhere.
  static constexpr std::uint8_t no_class = 255;

  Voxel extent{};
  std::vector<float> values{};
  std::vector<std::uint8_t> labels{};  ///< 0 is the background; empty: there is no label
};

/// A channel of an image of numbers [C, Z, Y, X].
struct ImageChannel {
  Tensor image{};
  std::int64_t channel = 0;
};

/// Labels of `classes` and more (0: of 255 and more) and those below 0 are none of the classes;
/// `label` is integers [Z, Y, X], or empty. Throws DataError for another shape, ConfigError for a
/// channel that is not there.
ShownVolume shown_volume(const ImageChannel& of, const Tensor& label, std::size_t classes);

/// The voxel of a class that is nearest to the centre of all of them; without one the middle.
Voxel crossing(const ShownVolume& volume);

/// What is black and what is white.
struct GreyWindow {
  float least = 0.0F;
  float most = 1.0F;
};

/// From the 0.5 to the 99.5 percentile of the finite values.
GreyWindow grey_window(std::vector<float> values);

/// The plane through a voxel across an axis (0 is z): rows and columns are y and x, z and x, or z
/// and y. Contours of the classes lie over it in their colours. A plane that is larger than `side`
/// pixels is shrunk to them.
Pixels slice(const ShownVolume& volume, const GreyWindow& window, std::size_t axis,
             const Voxel& through, int side);

}  // namespace headrace::inline v1::app
