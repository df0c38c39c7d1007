#pragma once

#include <headrace/apps/task/clean_labels.h>
#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/label_overlap.h>
#include <headrace/loaders/volume/nnunet_raw.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_preparation.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The values of a file's first channel, slice by slice from the first on: no block is decoded
/// twice. One thread.
class VolumeSlices {
 public:
  /// Reads the header. Throws what open_volume() throws.
  explicit VolumeSlices(const std::filesystem::path& file);

  const std::string& name() const noexcept { return name_; }
  const VolumeIndex& shape() const { return volume_->info().shape; }
  /// Of slice `z`, (y, x), until the next call.
  std::span<const float> read(std::int64_t z);

 private:
  std::string name_;
  std::shared_ptr<const CachedVolume> volume_;
  std::vector<std::byte> stored_;
  std::vector<float> values_;
};

/// Whether it is one channel of nothing but 0; reads no further than to the first other slice.
bool is_zero_everywhere(const std::filesystem::path& file);

/// Scores of a prepared case, [classes, z, y, x].
struct VolumeScores {
  std::span<const float> values{};
  std::int64_t classes = 2;
  GridExtent extent{};
};

/// Labels on the grid of a case's files, with its spacing and affine; uint8, of more than 256
/// classes int16.
struct PredictedVolume {
  VolumeInfo info{};
  std::vector<std::byte> voxels{};
};

/// Smooths scores on the prepared grid where the decision says so, resamples them to the voxels of
/// the files' crop, takes of each the best class, or of one mask what is above the threshold, and
/// cleans labels there, where voxels are those of the files (`clean_labels`). Outside of the crop
/// is 0. Holds, beside the scores and where they are smoothed a copy of them, the crop's labels and
/// the result. Throws ConfigError for more classes than int16 has, and for a threshold of several.
PredictedVolume predicted_volume(const VolumeScores& scores, const PreparedCase& prepared,
                                 const VolumeDecision& decision);

/// Label 0 everywhere on the grid of an image, whose header is read. Throws what open_volume()
/// throws.
PredictedVolume background(const std::filesystem::path& image, std::int64_t classes);

/// Counts of a prediction's classes against a file of labels, which is read slice by slice; voxels
/// whose label is `ignore` do not count. Throws DataError naming the file for another shape, and
/// for labels that are neither a class nor to be ignored.
std::vector<ClassOverlap> overlaps_with(const PredictedVolume& predicted,
                                        const std::filesystem::path& labels, std::int64_t classes,
                                        std::optional<std::int64_t> ignore);

/// The name of a case's prediction: the case's with the ending of its first image, or ".nii.gz"
/// where volumes are not written so.
std::filesystem::path prediction_name(const NnUNetCase& of);

}  // namespace headrace::inline v1::app
