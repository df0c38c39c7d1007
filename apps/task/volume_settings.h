#pragma once

#include <headrace/apps/config/fields.h>
#include <headrace/loaders/volume/patch_sampler.h>
#include <headrace/loaders/volume/volume_preparation.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// The section `volume` of a task: what volumes become before anything learns from them, and what
/// is cut out of them.
struct VolumeSettings {
  VolumePreparation preparation{};
  /// Folder of the prepared volumes, made once; a data set's each in a folder of its name.
  std::filesystem::path store = "prepared";
  std::array<std::int64_t, 3> patch{64, 64, 64};  ///< voxels along z, y, x
  std::int64_t patches = 4;                       ///< of each volume an epoch
  std::int64_t visit = 1;  ///< of these so many one after the other, whose blocks are then there
  PatchSampling sampling{};
  Bytes cache{2ULL << 30};  ///< of decoded voxels, all volumes together
};

/// How predictions of whole volumes are made, and what is done to them: keys of the section
/// `predict`.
struct VolumePredictSettings {
  double step = 0.5;                  ///< most that a window moves on, as a share of it
  double validation_step = 1.0;       ///< the same of the validation while a network learns
  std::vector<std::string> mirror{};  ///< z, y, x: the mean over all ways to mirror along these
  std::int64_t smallest = 0;          ///< voxels of a component that stays; 0: all stay
  bool largest_only = false;          ///< of each class the largest component
  int closing = 0;                    ///< radius of the ball, voxels; 0: none
};

void describe(Fields& fields, VolumeSettings& volume);
/// `used`: whether records are volumes, asked once all is read.
void describe(Fields& fields, VolumePredictSettings& predict, const std::function<bool()>& used);

/// Throws ConfigError for keys that contradict each other.
void check(const VolumeSettings& volume);
void check(const VolumePredictSettings& predict);

/// Axes of windows (0 is z, 2 is x) that `mirror` names. Throws ConfigError for another word.
std::vector<std::int64_t> mirrored_axes(const VolumePredictSettings& predict);

}  // namespace headrace::inline v1::app
