#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/detail/case/case_files.h>
#include <headrace/loaders/volume/detail/case/case_slices.h>
#include <headrace/loaders/volume/detail/case/value_mapping.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

namespace headrace::inline v1::detail {

/// Of some values, in double.
struct ValueFigures {
  double count = 0;
  double mean = 0;
  double squares = 0;    ///< sum of squared distances from the mean
  double distances = 0;  ///< sum of distances from the mean of the slice that a value is of
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  static ValueFigures of_zeros(double count) noexcept;

  /// Together with other values.
  void add(const ValueFigures& other) noexcept;
  /// Of the population.
  double deviation() const noexcept { return count > 0 ? std::sqrt(squares / count) : 0.0; }
};

/// What a case's images are, but for voxels that are 0 in all channels.
struct CaseStatistics {
  GrowingBox box{};
  std::vector<ValueFigures> channels{};
};

/// Reads a case once, slice by slice, and checks it (CaseSlices). Nothing where it is stopped.
std::optional<CaseStatistics> case_statistics(const CaseFiles& files, std::size_t cache_bytes,
                                              const LabelValues& labels,
                                              const std::stop_token& stop);

/// What a channel's values become.
struct ChannelMap {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  double mean = 0;
  double deviation = 1;
  bool zeros_stay = false;  ///< of voxels that are 0 in all channels

  double operator()(double value) const noexcept {
    return (std::clamp(value, low, high) - mean) / deviation;
  }
};

/// A channel of which some voxels are 0 in all channels.
struct ChannelFigures {
  ValueFigures others{};
  double zeros = 0;  ///< their number
};

/// By nnU-Net's schemes; deviations are at least 1e-8, as there.
ChannelMap channel_map(const VolumeNormalization& normalization, const ChannelFigures& channel);

/// What the map gives.
struct MappedValues {
  NumberRange range{};  ///< from the lowest to the highest, as float32
  /// Mean distance from the mean of a slice: outliers count less in it than in the deviation.
  /// Infinite, not known, where values are cut, which leaves no outlier.
  double spread = std::numeric_limits<double>::infinity();
};
MappedValues mapped_values(const ChannelMap& map, const ChannelFigures& channel);

/// A part of files of one channel and one shape, which are a volume's channels.
struct CropOf {
  std::vector<std::shared_ptr<const CachedVolume>> channels{};
  std::array<std::int64_t, 3> begin{};  ///< z, y, x in the files
  std::array<std::int64_t, 3> end{};
  std::array<std::int64_t, 3> block{};  ///< of the new volume, cut to its extents
  /// Spacing and affine of the files' grid.
  VolumeInfo grid{};
};

/// Its images as float32, each channel through its map (`maps` are as many as channels).
std::shared_ptr<const Volume> normalized_crop(CropOf crop, std::vector<ChannelMap> maps);

/// Its label, one channel of whole numbers that fit `dtype`: uint8 or int16.
std::shared_ptr<const Volume> label_crop(CropOf crop, DType dtype);

}  // namespace headrace::inline v1::detail
