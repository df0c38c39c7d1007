#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Scores `[N, classes, z, y, x]`, of any floating type, of windows float32 `[N, channels, z, y,
/// x]` of the patch's size. Must not keep or change its input.
using WindowNetwork = std::function<at::Tensor(const at::Tensor& windows)>;
/// The voxels `[channels, z, y, x]` of a window, all of the patch: what lies outside of the volume
/// too. May be a view; it is copied before the next one is asked for.
using ReadWindow = std::function<at::Tensor(const GridBox& window)>;

/// Windows that the network does not see.
struct SkipWindows {
  float background = 0.0F;  ///< a window whose voxels all have this value is passed over
  /// What a voxel gets, one score for each class, that no window with more in it covers.
  std::vector<float> scores{};
};

struct SlidingWindowOptions {
  WindowOptions windows{};
  WindowWeights weights{};
  std::int64_t batch = 2;  ///< windows that the network sees at once
  /// Axes (0 is z, 2 is x) along which windows are mirrored: scores are the mean over all 2^n ways
  /// to mirror or not along each.
  std::vector<std::int64_t> mirror{};
  float outside = 0.0F;  ///< value of voxels beyond a volume that is smaller than the patch
  std::optional<SkipWindows> skip{};
  at::Device device = at::kCPU;  ///< where the network works
  /// Sums of scores and weights that need more are kept on the host.
  std::size_t most_device_bytes = std::numeric_limits<std::size_t>::max();
  /// Told behind each batch how many windows are done, of how many.
  std::function<void(std::int64_t done, std::int64_t all)> on_windows{};
};

/// Memory that sliding_window() asks for at most, besides the volume and what the network needs for
/// itself; its scores are counted.
struct SlidingWindowBytes {
  std::size_t host = 0;
  std::size_t device = 0;  ///< 0 where the network works on the host
  std::size_t sums = 0;    ///< of these the sums of scores and weights
  bool sums_on_host = true;
};
/// Throws `ConfigError` as sliding_window().
HEADRACE_API SlidingWindowBytes sliding_window_bytes(const GridExtent& extent,
                                                     std::int64_t channels, std::int64_t classes,
                                                     const SlidingWindowOptions& options);

/// Scores of a volume, float32 `[classes, z, y, x]`: the mean of those of all windows that cover a
/// voxel, by their weights. Windows are added in the order of WindowGrid, whatever the batch, so
/// that where a network gives a window the same scores in every batch, the result is the same bits.
/// The result is where its sums were made; without gradients. `skip` waits for the device that
/// windows are on, once for each. Throws `ConfigError` for options that cannot be right, and for
/// windows and scores of another shape.
HEADRACE_API at::Tensor sliding_window(const WindowNetwork& network, const ReadWindow& read,
                                       const GridExtent& extent,
                                       const SlidingWindowOptions& options);
/// The same of a volume `[channels, z, y, x]` in memory, of any type and on any device.
HEADRACE_API at::Tensor sliding_window(const WindowNetwork& network, const at::Tensor& volume,
                                       const SlidingWindowOptions& options);

}  // namespace headrace::inline v1::training
