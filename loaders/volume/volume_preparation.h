#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/literals.h>
#include <headrace/loaders/volume/nnunet_raw.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

namespace headrace::inline v1 {

/// How a channel's values become what a network sees, by nnU-Net's schemes. Statistics of an image
/// are those of its crop, in double, before it is resampled; deviations are of the population, and
/// at least 1e-8.
struct VolumeNormalization {
  enum class Scheme : unsigned char {
    none,    ///< values as they are
    zscore,  ///< less the image's mean, by its deviation
    /// The same of the voxels that are not 0 in some channel; the others become 0. Holes, which
    /// nnU-Net fills, are others here.
    zscore_nonzero,
    ct,           ///< cut to [low, high], less `mean`, by `deviation`: of the data set
    zero_to_one,  ///< the image's least value becomes 0, its largest 1
    by_255,       ///< divided by 255
  };
  Scheme scheme = Scheme::zscore;
  double low = 0.0;
  double high = 1.0;
  double mean = 0.0;
  double deviation = 1.0;

  friend bool operator==(const VolumeNormalization&, const VolumeNormalization&) = default;
};

/// What is done to a case before anything learns from it: cropped, normalised, resampled (images
/// trilinear, labels by their largest share), in this order, as nnU-Net does.
struct VolumePreparation {
  /// Millimetres along z, y, x of the grid that images and labels are resampled to; 0: along that
  /// axis each stays on its own.
  std::array<double, 3> spacing{};
  bool crop = true;  ///< to the least box of voxels that are not 0 in some channel
  /// One for each channel, or one for all.
  std::vector<VolumeNormalization> channels{{}};

  friend bool operator==(const VolumePreparation&, const VolumePreparation&) = default;
};

/// The word of a scheme in configurations and records: "zscore_nonzero".
HEADRACE_API const char* name_of(VolumeNormalization::Scheme scheme) noexcept;

/// All of it as JSON on one line, with the numbers of channels that have some.
HEADRACE_API std::string to_string(const VolumePreparation& preparation);

/// A case as it lies prepared: chunk stores (`.hrv`).
struct PreparedCase {
  std::string name{};
  /// All channels, int16 with one scale: normalised values, off by half a step at most, of which
  /// 65535 lead from the lowest to the highest of all channels before they are resampled; float32
  /// where that would leave a channel fewer than 256 of them, or its values within a slice no more
  /// than 32 of them apart from their mean, on average (a few outliers would take all the rest).
  std::filesystem::path image{};
  std::filesystem::path label{};         ///< uint8, or int16; empty where the case has none
  std::array<std::int64_t, 3> extent{};  ///< voxels along z, y, x
  std::array<double, 3> spacing{};       ///< millimetres
  std::array<std::int64_t, 3> original_extent{};  ///< of the case's files
  std::array<double, 3> original_spacing{};
  std::array<double, 12> original_affine{};
  std::array<std::int64_t, 3> crop_begin{};  ///< of the crop, in the files' voxels
  std::array<std::int64_t, 3> crop_end{};
  bool placed_together = true;  ///< false: channels or label have different affines
};

struct PrepareOptions {
  std::filesystem::path folder{};  ///< is made where it is not there
  std::array<std::int64_t, 3> chunk{64, 64, 64};
  int threads = 1;
  /// Bytes of decoded voxels of all threads together. Packed NIfTI is decoded as a whole.
  std::size_t memory = 2_GiB;
  /// Values that a label may have; others are an error. Empty: all of 0 to 255. Where one does not
  /// fit a byte, labels are int16.
  std::vector<std::int64_t> values{};
  /// Called as cases are done, one thread at a time; `kept` of the `done` were prepared before.
  std::function<void(std::int64_t done, std::int64_t kept, std::int64_t cases)> on_progress{};
  /// Called first where so many files were changed since their cases were prepared, which are
  /// prepared anew.
  std::function<void(std::int64_t files)> on_changed{};
  std::stop_token stop{};
};

/// Prepares cases, each once: a case whose name, files (by name, size, time and a sample of their
/// bytes), preparation, chunk and values are those that its record in the folder says, and whose
/// prepared files have the headers that it says, is left as it is, so that a stopped run goes on.
/// Several cases at a time, each in two passes. Writes `NAME.image.hrv`, `NAME.label.hrv` and,
/// last, `NAME.json` for each case; all whole or not there. The bytes do not depend on threads or
/// interruptions. Fewer cases come back where `stop` asked. One run at a time prepares into a
/// folder.
///
/// Throws DataError naming case, file and rule: for images and labels of different shapes or
/// spacings, files of several channels, images that are 0 everywhere, labels of other values;
/// ConfigError for a preparation that cannot be right; ResourceError for a full disk, a case that
/// does not fit into `memory`, and a folder that another run is preparing into; what open_volume()
/// throws.
HEADRACE_API std::vector<PreparedCase> prepare_cases(const std::vector<NnUNetCase>& cases,
                                                     const VolumePreparation& preparation,
                                                     const PrepareOptions& options);

}  // namespace headrace::inline v1
