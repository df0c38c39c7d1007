#include <headrace/engine/base/error.h>
#include <headrace/training/evaluation/detail/window_scores.h>

#include <algorithm>
#include <utility>

#include <ATen/ops/flip.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::training::detail {

std::string text(at::IntArrayRef sizes) {
  std::string list = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return list + "]";
}

void require_mirror_axes(const std::vector<std::int64_t>& axes) {
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (*axis < 0 || *axis > 2 || std::find(axes.begin(), axis, *axis) != axis)
      throw ConfigError(std::string("[") + window_inference_name +
                        "] mirror must be axes 0 to 2, each once, got " + text(axes));
  }
}

void require_window_scores(const at::Tensor& scores, std::int64_t windows,
                           const GridExtent& patch) {
  if (scores.dim() == 5 && scores.size(0) == windows &&
      scores.sizes().slice(2) == at::IntArrayRef(patch.data(), 3))
    return;
  throw ConfigError(std::string("[") + window_inference_name + "] scores must be [" +
                    std::to_string(windows) + ", classes, " +
                    text({patch[0], patch[1], patch[2]}).substr(1) + ", got " +
                    text(scores.sizes()));
}

at::Tensor mean_of_mirrored(const at::Tensor& windows, const std::vector<std::int64_t>& axes,
                            const std::function<at::Tensor(const at::Tensor& windows)>& scores_of) {
  const auto count = static_cast<unsigned>(axes.size());
  if (count == 0) return scores_of(windows).to(at::kFloat);
  at::Tensor sum = scores_of(windows).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  for (unsigned chosen = 1; chosen < 1U << count; ++chosen) {
    std::vector<std::int64_t> along;
    for (unsigned i = 0; i < count; ++i)
      if ((chosen >> i & 1U) != 0) along.push_back(axes[i] + 2);
    sum.add_(at::flip(scores_of(at::flip(windows, along)), along));
  }
  return sum.div_(static_cast<double>(1U << count));
}

at::Tensor window_weights(const GridExtent& patch, const WindowWeights& weights) {
  return at::tensor(gaussian_window(patch, weights), at::kFloat)
      .view({patch[0], patch[1], patch[2]});
}

at::Tensor part_of(at::Tensor whole, const GridBox& part, const GridExtent& origin) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    whole = whole.narrow(whole.dim() - 3 + static_cast<std::int64_t>(axis),
                         part.begin[axis] - origin[axis], part.end[axis] - part.begin[axis]);
  return whole;
}

WindowSums::WindowSums(const WindowGrid& grid, std::int64_t classes, at::Tensor weights)
    : grid_(grid), weights_(std::move(weights)), scores_(zeros(classes)), counts_(zeros(1)[0]) {}

std::size_t WindowSums::bytes(const GridExtent& extent, std::int64_t classes) {
  return static_cast<std::size_t>((classes + 1) * voxels_of(extent)) * sizeof(float);
}

void WindowSums::add(std::int64_t window, const at::Tensor& scores) {
  const GridBox inside = grid_.inside(window);
  const GridExtent origin = grid_[window].begin;
  const at::Tensor weights = part_of(weights_, inside, origin);
  part_of(scores_, inside, {}).addcmul_(part_of(scores.to(device()), inside, origin), weights);
  part_of(counts_, inside, {}).add_(weights);
}

at::Tensor WindowSums::means() {
  scores_.div_(counts_);
  return std::move(scores_);
}

at::Tensor WindowSums::zeros(std::int64_t count) const {
  const GridExtent& extent = grid_.extent();
  return at::zeros({count, extent[0], extent[1], extent[2]},
                   at::TensorOptions(at::kFloat).device(device()));
}

}  // namespace headrace::inline v1::training::detail
