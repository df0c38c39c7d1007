#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/literals.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// Of a channel's foreground: voxels with a label above 0, each case counting as much as another.
struct NnUNetForegroundValues {
  double mean = 0;
  double median = 0;
  double std = 0;
  double min = 0;
  double max = 0;
  double percentile_00_5 = 0;
  double percentile_99_5 = 0;
};

/// What nnU-Net plans by (its dataset_fingerprint.json).
struct NnUNetFingerprint {
  /// Of each case, along z, y, x: voxels of the smallest box around those that are not 0 in some
  /// channel, and millimetres from a voxel to the next. An image of one slice has one of 999 times
  /// its coarser axis, as nnU-Net gives pictures.
  std::vector<std::array<std::int64_t, 3>> shapes{};
  std::vector<std::array<double, 3>> spacings{};
  double median_relative_size_after_cropping = 1;
  std::vector<NnUNetForegroundValues> intensity{};  ///< of each channel
  /// Cases where a value occurs, for each of NnUNetRaw::values().
  std::vector<std::int64_t> cases_with_value{};
  /// Names of cases of which a channel or the label says that it lies elsewhere than the first
  /// channel (another affine), as nnU-Net warns of; which is right only a look at them tells.
  std::vector<std::string> displaced{};
};

struct NnUNetFingerprintOptions {
  int threads = 0;  ///< cases looked at together; 0: usable cores
  /// Bytes of decoded blocks and voxels of all threads together. Packed NIfTI is decoded as a
  /// whole.
  std::size_t memory = 4_GiB;
  /// Of foreground kept for percentiles, for each channel, over all cases; 8 bytes each.
  std::int64_t most_values = 10'000'000;
  /// Called as cases are done, by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t cases)> on_progress{};
};

/// Looks at every voxel of a data set once, a slice at a time; the same whatever the threads.
///
/// nnU-Net draws as many foreground voxels of each case, with replacement; here mean, deviation,
/// least and largest value are of all of them, and percentiles of all where a case's share of
/// `most_values` holds them (of 8 and 16 bits: their different values), else of as many drawn
/// evenly. Holes that nnU-Net fills change neither box nor foreground.
///
/// Throws DataError naming case, file and rule: for images and labels of different shapes or
/// spacings, files of several channels, voxels that are no number, labels of a value that
/// dataset.json does not have, and a data set without foreground; what open_volume() throws; a
/// ResourceError for a case that does not fit into `memory`.
HEADRACE_API NnUNetFingerprint nnunet_fingerprint(const NnUNetRaw& raw,
                                                  const NnUNetFingerprintOptions& options = {});

}  // namespace headrace::inline v1
