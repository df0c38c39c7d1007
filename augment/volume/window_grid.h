#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace headrace::inline v1 {

/// Where windows begin along an axis, as nnU-Net places them: the fewest whose steps are at most
/// `share` of the patch, evenly spread, the first at 0, the last at the end, halves rounded to
/// even. Where the patch is longer than the axis, one window with as many voxels too much before as
/// behind (the odd one behind), so that it begins below 0. Throws ConfigError unless extents are
/// positive and share is in (0, 1].
HEADRACE_API std::vector<std::int64_t> window_positions(std::int64_t extent, std::int64_t patch,
                                                        double share);
/// The same with a step of so many voxels at most, 1 to `patch`.
HEADRACE_API std::vector<std::int64_t> window_positions_by(std::int64_t extent, std::int64_t patch,
                                                           std::int64_t voxels);

struct WindowOptions {
  GridExtent patch{};
  double share = 0.5;  ///< most of the patch that a window steps on
  /// The same in voxels, for each axis; then `share` does not count.
  std::optional<GridExtent> step{};
};

/// The windows that cover a volume, in a fixed order: x runs fastest, then y, then z. A window may
/// reach beyond a volume that is smaller than the patch, on both sides.
class HEADRACE_API WindowGrid {
 public:
  /// Throws ConfigError as window_positions() does.
  WindowGrid(const GridExtent& extent, const WindowOptions& options);

  const GridExtent& extent() const noexcept { return extent_; }
  const GridExtent& patch() const noexcept { return patch_; }
  std::int64_t size() const noexcept;
  /// Window 0 to size() - 1; always as large as the patch.
  GridBox operator[](std::int64_t window) const;
  /// What of it lies in the volume.
  GridBox inside(std::int64_t window) const;

 private:
  GridExtent extent_;
  GridExtent patch_;
  std::array<std::vector<std::int64_t>, 3> begins_;
};

/// How much a window's voxels count where windows overlap.
struct WindowWeights {
  double sigma = 0.125;  ///< of a Gaussian about the middle, as a share of each side; 0: all alike
  double peak = 1.0;     ///< the largest weight; nnU-Net has 10 for half precision
};

/// The weights of a window's voxels, as nnU-Net has them: the largest at half of each side rounded
/// down, 0 beyond 4 sigma; zeros become the smallest of the others, so that no voxel is without.
/// Throws ConfigError for a sigma below 0 and a peak that is not positive.
HEADRACE_API std::vector<float> gaussian_window(const GridExtent& patch,
                                                const WindowWeights& weights = {});

}  // namespace headrace::inline v1
