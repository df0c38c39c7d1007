#pragma once

#include <headrace/augment/volume/grid_extent.h>
#include <headrace/augment/volume/window_grid.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training::detail {

// "[2, 3, 4]".
std::string text(at::IntArrayRef sizes);

// Who speaks in errors.
inline constexpr const char* window_inference_name = "window inference";

// Throws ConfigError unless these are axes 0 to 2, each once.
void require_mirror_axes(const std::vector<std::int64_t>& axes);

// Throws ConfigError unless scores are [N, classes, z, y, x] of N windows of that patch.
void require_window_scores(const at::Tensor& scores, std::int64_t windows, const GridExtent& patch);

// float32 scores of windows [N, channels, z, y, x]: the mean over all 2^n ways to mirror them along
// these axes (0 is z), mirrored back.
at::Tensor mean_of_mirrored(const at::Tensor& windows, const std::vector<std::int64_t>& axes,
                            const std::function<at::Tensor(const at::Tensor& windows)>& scores_of);

// [z, y, x] on the host.
at::Tensor window_weights(const GridExtent& patch, const WindowWeights& weights);

// Makes of a tensor over the window at `origin` what of it lies in `part`; the last three axes are
// z, y, x.
at::Tensor part_of(at::Tensor whole, const GridBox& part, const GridExtent& origin);

// Sums over the windows of a volume, of scores and of weights. The grid outlives it.
class WindowSums {
 public:
  // All zero. `weights` are those of the patch, on the device where sums are kept.
  WindowSums(const WindowGrid& grid, std::int64_t classes, at::Tensor weights);
  static std::size_t bytes(const GridExtent& extent, std::int64_t classes);

  std::int64_t classes() const { return scores_.size(0); }
  at::Device device() const { return weights_.device(); }

  // Of one window, [classes, z, y, x]; takes no memory where they are on the device of the sums.
  void add(std::int64_t window, const at::Tensor& scores);

  // [classes, z, y, x], in the place of the sums, which end with it.
  at::Tensor means();

 private:
  at::Tensor zeros(std::int64_t count) const;

  const WindowGrid& grid_;
  at::Tensor weights_;
  at::Tensor scores_;
  at::Tensor counts_;
};

}  // namespace headrace::inline v1::training::detail
