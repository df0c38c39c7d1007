#pragma once

#include <headrace/augment/volume/window_grid.h>
#include <headrace/engine/base/error.h>
#include <headrace/engine/sample/sample.h>
#include <headrace/engine/sample/source.h>
#include <headrace/training/evaluation/window_inference.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <ATen/Functions.h>

namespace headrace::test {

using training::WindowedVolume;
using training::WindowInferenceOptions;

inline constexpr GridExtent patch{4, 6, 8};

struct TestVolume {
  at::Tensor image;  // [1, z, y, x]
  at::Tensor label;  // [z, y, x]
};

inline TestVolume volume_of(const GridExtent& extent) {
  const at::Tensor places = at::arange(voxels_of(extent), at::kDouble);
  const at::Tensor image = (places * 12.9898).sin().mul(43758.5453).frac().to(at::kFloat);
  return {.image = image.view({1, extent[0], extent[1], extent[2]}),
          .label = (places.to(at::kLong) % 251).view({extent[0], extent[1], extent[2]})};
}

// The same windows as an example has them, zeros outside.
inline at::Tensor window_of(const at::Tensor& volume, const GridBox& window) {
  at::Tensor filled = at::zeros({volume.size(0), patch[0], patch[1], patch[2]}, volume.options());
  at::Tensor from = volume, to = filled;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto dim = static_cast<std::int64_t>(axis) + 1;
    const std::int64_t begin = std::max<std::int64_t>(window.begin[axis], 0);
    const std::int64_t end = std::min(window.end[axis], volume.size(dim));
    from = from.narrow(dim, begin, end - begin);
    to = to.narrow(dim, begin - window.begin[axis], end - begin);
  }
  to.copy_(from);
  return filled;
}

// Three volumes, the second smaller than a window, the last one window.
class WindowData final : public Source {
 public:
  WindowData() {
    for (const GridExtent& extent : {GridExtent{9, 14, 19}, GridExtent{3, 9, 5}, patch}) {
      volumes.push_back(volume_of(extent));
      auto& grids = *windows;
      grids.push_back({.name = "case " + std::to_string(grids.size()),
                       .grid = WindowGrid(extent, {.patch = patch})});
    }
  }

  std::string name() const override { return "windows"; }
  std::int64_t size() const override {
    std::int64_t count = 0;
    for (const WindowedVolume& one : *windows)
      count += one.grid.size();
    return count;
  }
  Schema fields() const override {
    return {FieldSpec::fixed("image", DType::float32, {1, patch[0], patch[1], patch[2]}),
            FieldSpec::fixed("label", DType::int64, {patch[0], patch[1], patch[2]})};
  }
  void read(std::int64_t index, Sample& sample) const override {
    if (index == broken) throw DataError("a window that cannot be read");
    std::size_t number = 0;
    while (index >= (*windows)[number].grid.size())
      index -= (*windows)[number++].grid.size();
    const GridBox window = (*windows)[number].grid[index];
    const at::Tensor image = window_of(volumes[number].image, window);
    const at::Tensor label = window_of(volumes[number].label.unsqueeze(0), window);
    std::memcpy(
        sample.make("image", DType::float32, {1, patch[0], patch[1], patch[2]}).data<float>(),
        image.const_data_ptr<float>(), image.nbytes());
    std::memcpy(
        sample.make("label", DType::int64, {patch[0], patch[1], patch[2]}).data<std::int64_t>(),
        label.const_data_ptr<std::int64_t>(), label.nbytes());
  }

  std::vector<TestVolume> volumes;
  std::shared_ptr<std::vector<WindowedVolume>> windows =
      std::make_shared<std::vector<WindowedVolume>>();
  std::int64_t broken = -1;
};

// Two classes with the voxels around, and the place in the window: overlapping windows disagree.
inline at::Tensor network(const at::Tensor& windows) {
  const at::Tensor along = at::arange(windows.size(4), at::kFloat);
  const at::Tensor first = windows + along;
  return at::cat({first, windows.roll(1, 4) - windows * windows}, 1).contiguous();
}

// The mean over all ways to mirror a window or not.
inline at::Tensor mirrored_mean(const at::Tensor& windows,
                                const std::vector<std::int64_t>& mirror) {
  std::vector<at::Tensor> scores;
  for (unsigned chosen = 0; chosen < 1U << mirror.size(); ++chosen) {
    std::vector<std::int64_t> along;
    for (std::size_t i = 0; i < mirror.size(); ++i)
      if ((chosen >> i & 1U) != 0) along.push_back(mirror[i] + 2);
    scores.push_back(network(windows.flip(along)).flip(along).to(at::kDouble));
  }
  return at::stack(scores).mean(0);
}

// [classes, z, y, x] by their definition, in double and with the windows in reverse.
inline at::Tensor defined_scores(const at::Tensor& volume, const WindowInferenceOptions& options) {
  const GridExtent extent{volume.size(1), volume.size(2), volume.size(3)};
  const WindowGrid grid(extent, {.patch = patch});
  const at::Tensor weights = at::tensor(headrace::gaussian_window(patch, options.weights))
                                 .view({patch[0], patch[1], patch[2]})
                                 .to(at::kDouble);
  at::Tensor sums = at::zeros({2, extent[0], extent[1], extent[2]}, at::kDouble);
  at::Tensor counts = at::zeros({extent[0], extent[1], extent[2]}, at::kDouble);
  const auto part = [](at::Tensor of, const GridBox& box, const GridExtent& origin) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      of = of.narrow(of.dim() - 3 + static_cast<std::int64_t>(axis), box.begin[axis] - origin[axis],
                     box.end[axis] - box.begin[axis]);
    return of;
  };
  for (std::int64_t i = grid.size() - 1; i >= 0; --i) {
    const GridBox inside = grid.inside(i);
    const at::Tensor scores =
        mirrored_mean(window_of(volume, grid[i]).unsqueeze(0), options.mirror)[0];
    part(sums, inside, {}).add_(part(scores * weights, inside, grid[i].begin));
    part(counts, inside, {}).add_(part(weights, inside, grid[i].begin));
  }
  return sums / counts;
}

}  // namespace headrace::test
