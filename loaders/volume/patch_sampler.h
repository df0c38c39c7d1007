#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::inline v1 {

/// Where patches are taken. Positions are of the voxel in a patch's middle: of an even patch the
/// one behind the middle line.
struct HEADRACE_API PatchSampling {
  enum class Forced : unsigned char {
    by_chance,  ///< each sample with probability `foreground`
    /// nnU-Net's rule: of each `batch` samples that follow each other in an epoch those from
    /// round(batch * (1 - foreground)) on. Of a batch of 1 none is, of 2 the second one.
    by_row,
  };

  /// Share of samples whose middle is a voxel of a class: first the class, uniformly among those
  /// that the volume has, then one of its voxels, uniformly; moved so that the patch stays inside.
  /// The others lie anywhere, uniformly; of a case that has a WeightMap around a voxel that is
  /// drawn by its weight, moved likewise.
  double foreground = 0.33;
  Forced forced = Forced::by_chance;
  std::int64_t batch = 1;  ///< rows, for by_row
  /// Classes that are chosen among; empty: all labels but 0 and the ignored one. With 0 among them
  /// and `foreground` 1 labels are balanced.
  std::vector<std::int64_t> classes{};
  std::optional<std::int64_t> ignore{};  ///< label that is no class: never in the middle
  /// Of patches with a larger share of ignored voxels (in the box that is read) another is drawn,
  /// up to `attempts` times.
  double most_ignored = 0.95;
  int attempts = 8;

  /// Throws ConfigError for numbers that cannot be right.
  void check() const;
  friend bool operator==(const PatchSampling&, const PatchSampling&) = default;
};

/// Whether the sample of that row has its middle in a class.
HEADRACE_API bool takes_foreground(const PatchSampling& how, std::int64_t row, Random& random);

/// A uniform place for a patch's middle, so that the patch lies inside; where the volume is smaller
/// along an axis, in the middle of that.
HEADRACE_API std::array<std::int64_t, 3> uniform_middle(const VolumeIndex& volume,
                                                        const std::array<std::int64_t, 3>& patch,
                                                        Random& random);

/// The place nearest to `middle` for which the patch lies inside.
HEADRACE_API std::array<std::int64_t, 3> clamped_middle(const VolumeIndex& volume,
                                                        const std::array<std::int64_t, 3>& patch,
                                                        const std::array<std::int64_t, 3>& middle);

}  // namespace headrace::inline v1
