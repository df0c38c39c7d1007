#include <headrace/engine/base/error.h>
#include <headrace/training/detail/window_scores.h>
#include <headrace/training/sliding_window.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

namespace headrace::inline v1::training {

using detail::text;
using detail::WindowSums;

namespace {

constexpr const char* sliding_window_name = "sliding window";

[[noreturn]] void refuse(const std::string& rule, const std::string& got) {
  throw ConfigError(std::string("[") + sliding_window_name + "] " + rule + ", got " + got);
}

void check(const SlidingWindowOptions& options) {
  if (options.batch < 1) refuse("batch must be positive", std::to_string(options.batch));
  detail::require_mirror_axes(sliding_window_name, options.mirror);
  if (options.skip && options.skip->scores.empty())
    refuse("skip must say the scores of background, one for each class", "none");
}

bool keep_on_host(const SlidingWindowOptions& options, std::size_t sums) {
  return options.device.is_cpu() || sums > options.most_device_bytes;
}

/// One pass over a volume.
class Pass {
 public:
  Pass(const WindowNetwork& network, const WindowGrid& grid, const SlidingWindowOptions& options)
      : network_(network), grid_(grid), options_(options) {}

  void see(std::int64_t window, const at::Tensor& voxels) {
    place(voxels);
    waiting_.push_back(window);
    if (std::ssize(waiting_) == options_.batch) run();
  }

  void run() {
    if (waiting_.empty()) return;
    const auto count = std::ssize(waiting_);
    const at::Tensor scores = scores_of(
        windows_.narrow(0, 0, count).to(at::TensorOptions(at::kFloat).device(options_.device)));
    if (!sums_) begin(scores.size(1));
    if (scores.size(1) != sums_->classes()) {
      refuse("scores must be of " + std::to_string(sums_->classes()) + " classes as before",
             std::to_string(scores.size(1)));
    }
    for (std::int64_t i = 0; i < count; ++i)
      sums_->add(waiting_[static_cast<std::size_t>(i)], scores[i]);
    if (options_.on_windows) options_.on_windows(waiting_.back() + 1, grid_.size());
    waiting_.clear();
  }

  at::Tensor finish() {
    run();
    windows_ = at::Tensor();
    const auto& skip = options_.skip;
    if (!sums_) begin(std::ssize(skip->scores));  // all were passed over
    if (skip && std::ssize(skip->scores) != sums_->classes()) {
      refuse("skip must have a score for each of " + std::to_string(sums_->classes()) + " classes",
             std::to_string(skip->scores.size()));
    }
    return sums_->means(skip ? std::span<const float>(skip->scores) : std::span<const float>());
  }

 private:
  /// Into the memory of a batch.
  void place(const at::Tensor& voxels) {
    const GridExtent& patch = grid_.patch();
    const std::int64_t channels = windows_.defined() ? windows_.size(1) : voxels.size(0);
    if (voxels.sizes() != at::IntArrayRef({channels, patch[0], patch[1], patch[2]})) {
      refuse("windows must be " + text({channels, patch[0], patch[1], patch[2]}),
             text(voxels.sizes()));
    }
    if (!windows_.defined()) {
      const std::int64_t most = std::min(options_.batch, grid_.size());
      windows_ = at::empty({most, channels, patch[0], patch[1], patch[2]}, voxels.options());
    }
    windows_.select(0, std::ssize(waiting_)).copy_(voxels);
  }

  at::Tensor scores_of(const at::Tensor& windows) const {
    return detail::mean_of_mirrored(windows, options_.mirror, [&](const at::Tensor& turned) {
      at::Tensor scores = network_(turned);
      detail::require_window_scores(sliding_window_name, scores, turned.size(0), grid_.patch());
      return scores;
    });
  }

  void begin(std::int64_t classes) {
    const bool on_host = keep_on_host(options_, WindowSums::bytes(grid_.extent(), classes));
    sums_.emplace(grid_, classes,
                  detail::window_weights(grid_.patch(), options_.weights)
                      .to(on_host ? at::Device(at::kCPU) : options_.device));
  }

  const WindowNetwork& network_;
  const WindowGrid& grid_;
  const SlidingWindowOptions& options_;
  at::Tensor windows_;
  std::vector<std::int64_t> waiting_;
  std::optional<WindowSums> sums_;
};

/// A part of a volume, where it reaches beyond filled up.
at::Tensor read_from(const at::Tensor& volume, const GridBox& window, float outside) {
  const GridExtent extent{volume.size(1), volume.size(2), volume.size(3)};
  at::Tensor part = volume, place;
  std::vector<std::int64_t> shape{volume.size(0)};
  GridExtent begin{}, end{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    begin[axis] = std::max<std::int64_t>(window.begin[axis], 0);
    end[axis] = std::min(window.end[axis], extent[axis]);
    shape.push_back(window.end[axis] - window.begin[axis]);
    part = part.narrow(static_cast<std::int64_t>(axis) + 1, begin[axis], end[axis] - begin[axis]);
  }
  if (part.sizes() == at::IntArrayRef(shape)) return part;
  at::Tensor filled = at::full(shape, outside, volume.options());
  place = filled;
  for (std::size_t axis = 0; axis < 3; ++axis)
    place = place.narrow(static_cast<std::int64_t>(axis) + 1, begin[axis] - window.begin[axis],
                         end[axis] - begin[axis]);
  place.copy_(part);
  return filled;
}

}  // namespace

SlidingWindowBytes sliding_window_bytes(const GridExtent& extent, std::int64_t channels,
                                        std::int64_t classes, const SlidingWindowOptions& options) {
  check(options);
  if (channels < 1 || classes < 1) {
    refuse("channels and classes must be positive",
           std::to_string(channels) + " and " + std::to_string(classes));
  }
  const WindowGrid grid(extent, options.windows);
  const auto patch = static_cast<std::size_t>(voxels_of(grid.patch())) * sizeof(float);
  const auto batch = static_cast<std::size_t>(std::min(options.batch, grid.size()));
  const std::size_t window = patch * static_cast<std::size_t>(channels);
  const std::size_t scores = patch * static_cast<std::size_t>(classes);
  const bool mirrored = !options.mirror.empty();
  SlidingWindowBytes bytes{.sums = WindowSums::bytes(extent, classes)};
  bytes.sums_on_host = keep_on_host(options, bytes.sums);
  // The weights, on the host first, and which voxels no window has seen.
  const std::size_t kept =
      bytes.sums + 2 * patch + (options.skip ? static_cast<std::size_t>(voxels_of(extent)) : 0);
  bytes.host = window * (batch + 1) + patch;
  // As they came, as float32, mirrored; scores as they came, their sum, mirrored back.
  bytes.device = batch * (window * (mirrored ? 3 : 2) + scores * (mirrored ? 3 : 2));
  (bytes.sums_on_host ? bytes.host : bytes.device) += kept;
  if (bytes.sums_on_host && !options.device.is_cpu()) bytes.host += scores;
  if (options.device.is_cpu()) bytes.host += std::exchange(bytes.device, 0);
  return bytes;
}

at::Tensor sliding_window(const WindowNetwork& network, const ReadWindow& read,
                          const GridExtent& extent, const SlidingWindowOptions& options) {
  check(options);
  const at::NoGradGuard no_gradient;
  const WindowGrid grid(extent, options.windows);
  Pass pass(network, grid, options);
  for (std::int64_t window = 0; window < grid.size(); ++window) {
    const at::Tensor voxels = read(grid[window]);
    if (options.skip && (voxels == options.skip->background).all().is_nonzero()) continue;
    pass.see(window, voxels);
  }
  return pass.finish();
}

at::Tensor sliding_window(const WindowNetwork& network, const at::Tensor& volume,
                          const SlidingWindowOptions& options) {
  if (volume.dim() != 4) refuse("a volume must be [channels, z, y, x]", text(volume.sizes()));
  const ReadWindow read = [&](const GridBox& window) {
    return read_from(volume, window, options.outside);
  };
  return sliding_window(network, read, {volume.size(1), volume.size(2), volume.size(3)}, options);
}

}  // namespace headrace::inline v1::training
