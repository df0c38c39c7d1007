#pragma once

#include <headrace/benchmarks/volumes/data.h>
#include <headrace/loaders/volume/spatial_map.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::bench {

/// The limit of resampling: a plain loop over the patch, trilinear, out of a volume that lies in
/// memory as it was stored, as one writes it without vectors.
class PlainTrilinear {
 public:
  /// `label` may be empty.
  PlainTrilinear(Voxels image, Voxels label, std::array<double, 2> mean_and_deviation);

  /// Of an affine map. `label` is what has at least half of the weights, of two labels.
  void cut(const SpatialMap& map, float* image, std::uint8_t* label) const;
  const VolumeInfo& info() const noexcept { return image_.info; }
  bool has_label() const noexcept { return !label_.bytes.empty(); }

 private:
  Voxels image_;
  Voxels label_;
  float scale_;
  float offset_;
};

/// Cuts patches around uniform places, each turned and scaled, on bare threads; returns patches.
double cut_on_threads(const PlainTrilinear& plain, const Work& work, std::int64_t patches,
                      std::uint64_t seed);

}  // namespace headrace::inline v1::bench
