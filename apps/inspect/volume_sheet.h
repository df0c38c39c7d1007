#pragma once

#include <headrace/apps/feed/data_part.h>
#include <headrace/apps/inspect/contact_sheet.h>
#include <headrace/apps/plot/canvas.h>
#include <headrace/engine/tensor/field.h>
#include <headrace/engine/tensor/tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/// Names of the fields of a sample that is a volume.
struct VolumeFields {
  std::string image{};
  std::string label{};  ///< empty: it has none
};

/// The first field float32 [C, Z, Y, X], or else of integers, and the first of integers [Z, Y, X]
/// of its size; none where there is no volume.
std::optional<VolumeFields> volume_fields(const Schema& fields);

/// Throws ConfigError where the volumes of a part have no such channel.
void check_channel(const DataPart& part, const SheetOptions& options);

/// A PNG with a row for each record: the record before the pipeline and what it feeds in epochs 0,
/// 1, ..., each as planes across z, y and x, through the label's foreground where there is some,
/// with contours of the classes. Grey goes from the 0.5 to the 99.5 percentile of the record before
/// the pipeline. A plane has `cell` pixels along its longer side, fewer where the sheet would have
/// more than 12 million. Throws what records and loader throw, and ConfigError for a pipeline that
/// feeds more rows than there are records.
std::vector<std::byte> volume_sheet(const DataPart& part, const std::vector<std::int64_t>& records,
                                    const SheetOptions& options);

}  // namespace headrace::inline v1::app
