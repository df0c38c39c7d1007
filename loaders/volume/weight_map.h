#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace headrace::inline v1 {

/// A volume of one channel that says how likely each voxel is drawn: by its value (stored * scale +
/// offset), in proportion; never where it is 0. Keeps the sums of cells, boxes of a few thousand
/// voxels to 64 a side: 8 bytes for each. Const and thread-safe.
class HEADRACE_API WeightMap {
 public:
  /// Reads the volume once. Throws DataError naming it where it cannot be read, holds a value that
  /// is negative or not finite, or nothing but 0; ConfigError where it has several channels.
  explicit WeightMap(std::shared_ptr<const CachedVolume> weights, int threads = 1);

  const CachedVolume& volume() const noexcept { return *weights_; }
  double sum() const noexcept { return ends_.back(); }
  /// Of the sums, without the volume.
  std::size_t resident_bytes() const noexcept { return ends_.capacity() * sizeof(double); }

  /// The voxels of which one is drawn with this `random`; reads nothing.
  VolumeBox cell_of(Random random) const;
  /// Each voxel with the probability of its weight. One draw; reads one cell. Throws what reading
  /// throws.
  VolumeIndex pick_voxel(Random& random) const;

 private:
  std::shared_ptr<const CachedVolume> weights_;
  std::vector<double> ends_;  // weights of a cell and those before it
};

}  // namespace headrace::inline v1
