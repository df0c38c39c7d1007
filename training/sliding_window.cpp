#include <headrace/engine/base/error.h>
#include <headrace/training/sliding_window.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::training {

namespace {

[[noreturn]] void refuse(const std::string& rule, const std::string& got) {
  throw ConfigError("[sliding window] " + rule + ", got " + got);
}

std::string text(at::IntArrayRef sizes) {
  std::string list = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i)
    list += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return list + "]";
}

void check(const SlidingWindowOptions& options) {
  if (options.batch < 1) refuse("batch must be positive", std::to_string(options.batch));
  for (auto axis = options.mirror.begin(); axis != options.mirror.end(); ++axis) {
    if (*axis < 0 || *axis > 2 || std::find(options.mirror.begin(), axis, *axis) != axis)
      refuse("mirror must be axes 0 to 2, each once", text(options.mirror));
  }
  if (options.skip && options.skip->scores.empty())
    refuse("skip must say the scores of background, one for each class", "none");
}

std::size_t sum_bytes(const GridExtent& extent, std::int64_t classes) {
  return static_cast<std::size_t>((classes + 1) * voxels_of(extent)) * sizeof(float);
}

bool keep_on_host(const SlidingWindowOptions& options, std::size_t sums) {
  return options.device.is_cpu() || sums > options.most_device_bytes;
}

/// Sums of scores and of weights.
class Sums {
 public:
  Sums(const WindowGrid& grid, std::int64_t classes, const SlidingWindowOptions& options)
      : grid_(grid),
        device_(keep_on_host(options, sum_bytes(grid.extent(), classes)) ? at::Device(at::kCPU)
                                                                         : options.device),
        scores_(zeros(classes)),
        counts_(zeros(1)[0]) {
    std::vector<float> weights = gaussian_window(grid.patch(), options.weights);
    const GridExtent& patch = grid.patch();
    weights_ = at::tensor(weights, at::kFloat).view({patch[0], patch[1], patch[2]}).to(device_);
  }

  std::int64_t classes() const { return scores_.size(0); }

  /// Of one window, `[classes, z, y, x]`.
  void add(std::int64_t window, const at::Tensor& scores) {
    const GridBox inside = grid_.inside(window), box = grid_[window];
    const auto part_of = [&](at::Tensor whole, const GridExtent& origin) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        whole =
            whole.narrow(whole.dim() - 3 + static_cast<std::int64_t>(axis),
                         inside.begin[axis] - origin[axis], inside.end[axis] - inside.begin[axis]);
      return whole;
    };
    const at::Tensor weights = part_of(weights_, box.begin);
    part_of(scores_, {}).addcmul_(part_of(scores.to(device_), box.begin), weights);
    part_of(counts_, {}).add_(weights);
  }

  at::Tensor means(const std::optional<SkipWindows>& skip) {
    at::Tensor unseen;
    if (skip) unseen = counts_ == 0;
    for (std::int64_t c = 0; c < classes(); ++c) {
      at::Tensor of_class = scores_[c];
      of_class.div_(counts_);
      if (skip) of_class.masked_fill_(unseen, skip->scores[static_cast<std::size_t>(c)]);
    }
    return std::move(scores_);
  }

 private:
  at::Tensor zeros(std::int64_t count) const {
    const GridExtent& extent = grid_.extent();
    return at::zeros({count, extent[0], extent[1], extent[2]},
                     at::TensorOptions(at::kFloat).device(device_));
  }

  const WindowGrid& grid_;
  at::Device device_;
  at::Tensor scores_;
  at::Tensor counts_;
  at::Tensor weights_;
};

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
    const at::Tensor scores = mean_of_mirrored(
        windows_.narrow(0, 0, count).to(at::TensorOptions(at::kFloat).device(options_.device)));
    if (!sums_) sums_.emplace(grid_, scores.size(1), options_);
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
    if (!sums_) sums_.emplace(grid_, std::ssize(skip->scores), options_);  // all were passed over
    if (skip && std::ssize(skip->scores) != sums_->classes()) {
      refuse("skip must have a score for each of " + std::to_string(sums_->classes()) + " classes",
             std::to_string(skip->scores.size()));
    }
    return sums_->means(skip);
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
    at::Tensor scores = network_(windows);
    const GridExtent& patch = grid_.patch();
    if (scores.dim() != 5 || scores.size(0) != windows.size(0) ||
        scores.sizes().slice(2) != at::IntArrayRef(patch.data(), 3)) {
      refuse("scores must be [" + std::to_string(windows.size(0)) + ", classes, " +
                 text({patch[0], patch[1], patch[2]}).substr(1),
             text(scores.sizes()));
    }
    return scores;
  }

  at::Tensor mean_of_mirrored(const at::Tensor& windows) const {
    const auto axes = static_cast<unsigned>(options_.mirror.size());
    if (axes == 0) return scores_of(windows).to(at::kFloat);
    at::Tensor sum = scores_of(windows).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    for (unsigned chosen = 1; chosen < 1U << axes; ++chosen) {
      std::vector<std::int64_t> along;
      for (unsigned i = 0; i < axes; ++i)
        if ((chosen >> i & 1U) != 0) along.push_back(options_.mirror[i] + 2);
      sum.add_(at::flip(scores_of(at::flip(windows, along)), along));
    }
    return sum.div_(static_cast<double>(1U << axes));
  }

  const WindowNetwork& network_;
  const WindowGrid& grid_;
  const SlidingWindowOptions& options_;
  at::Tensor windows_;
  std::vector<std::int64_t> waiting_;
  std::optional<Sums> sums_;
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
  SlidingWindowBytes bytes{.sums = sum_bytes(extent, classes)};
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
