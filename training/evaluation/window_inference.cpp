#include <headrace/engine/base/error.h>
#include <headrace/training/evaluation/detail/window_scores.h>
#include <headrace/training/evaluation/window_inference.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::training {

using detail::window_inference_name;
using detail::WindowSums;

namespace {

[[noreturn]] void refuse_data(const std::string& rule, const std::string& got) {
  throw DataError(std::string("[") + window_inference_name + "] " + rule + ", got " + got);
}

[[noreturn]] void refuse_config(const std::string& rule, const std::string& got) {
  throw ConfigError(std::string("[") + window_inference_name + "] " + rule + ", got " + got);
}

void require_target(const std::string& name, const at::Tensor& target, std::int64_t rows,
                    const GridExtent& patch) {
  const std::vector<std::int64_t> wanted{rows, patch[0], patch[1], patch[2]};
  if (target.sizes() != at::IntArrayRef(wanted))
    refuse_config("target \"" + name + "\" must be " + detail::text(wanted),
                  detail::text(target.sizes()));
}

}  // namespace

struct WindowInference::State {
  // A volume of which not all windows are in.
  struct OpenVolume {
    WindowSums sums;
    TensorMap targets = {};  // [1, z, y, x]
    bool unread = false;     // a window of it
  };

  // Rows of a batch that are windows of one volume, on the device of its sums.
  struct Piece {
    std::size_t volume = 0;
    std::int64_t window = 0;  // number of the first
    std::int64_t row = 0;     // of the batch
    std::int64_t count = 0;
    bool unread = false;  // one of them
    at::Tensor scores = {};
    TensorMap targets = {};
    std::optional<OpenVolume> begun = {};  // where the volume begins with it
  };

  State(std::shared_ptr<const std::vector<WindowedVolume>> these, WindowInferenceOptions how)
      : volumes(std::move(these)), options(std::move(how)) {
    detail::require_mirror_axes(options.mirror);
    for (const WindowedVolume& one : *volumes)
      all += one.grid.size();
  }

  const WindowedVolume& at(std::size_t number) const { return (*volumes)[number]; }

  std::vector<Piece> pieces_of(std::int64_t rows, const std::vector<std::int64_t>& unread) const {
    if (done + rows > all)
      refuse_data("there must be " + std::to_string(all) + " windows, as the grids have",
                  std::to_string(done + rows) + " or more");
    std::vector<Piece> pieces;
    std::size_t number = volume;
    std::int64_t first = window;
    for (std::int64_t row = 0; row < rows; row += pieces.back().count) {
      const std::int64_t left = at(number).grid.size() - first;
      pieces.push_back({.volume = number++,
                        .window = std::exchange(first, 0),
                        .row = row,
                        .count = std::min(rows - row, left)});
      Piece& one = pieces.back();
      one.unread = std::ranges::any_of(
          unread, [&](std::int64_t at) { return at >= row && at < row + one.count; });
    }
    return pieces;
  }

  void require_windows(const Example& example, const Batch& batch, std::int64_t unread) const {
    const std::vector<Origin> origins = batch.origins();
    for (std::size_t row = 0; row < origins.size(); ++row) {
      const std::int64_t wanted = done + static_cast<std::int64_t>(row);
      if (origins[row].index != wanted)
        refuse_data("rows must be the grids' windows in order, expected " + std::to_string(wanted),
                    std::to_string(origins[row].index) + " (" + origins[row].file + ")");
    }
    const std::int64_t counted = counted_rows(example);
    if (counted + unread != batch.size())
      refuse_data("no window may be left out, but from " + origins.front().file +
                      " on there must "
                      "be " +
                      std::to_string(batch.size()) + " of them",
                  std::to_string(counted) + "; mend the volume, or take it out of the data");
  }

  at::Tensor scores_of(const Example& example, const Predict& predict,
                       const GridExtent& patch) const {
    return detail::mean_of_mirrored(
        only(example.inputs, "input"), options.mirror, [&](const at::Tensor& windows) {
          Example turned = example;
          turned.inputs.begin()->second = windows;
          at::Tensor scores = predict(turned).scores;
          if (!scores.defined()) refuse_config("there must be scores to put together", "none");
          detail::require_window_scores(scores, windows.size(0), patch);
          return scores;
        });
  }

  // All that takes memory.
  void prepare(Piece& piece, const at::Tensor& scores, const Example& example) const {
    const WindowGrid& grid = at(piece.volume).grid;
    const GridExtent& extent = grid.extent();
    const std::int64_t classes = scores.size(1);
    at::Device device = scores.device();
    if (WindowSums::bytes(extent, classes) > options.most_device_bytes) device = at::kCPU;
    if (piece.window == 0) {
      at::Tensor weights = detail::window_weights(grid.patch(), options.weights).to(device);
      piece.begun.emplace(OpenVolume{.sums = WindowSums(grid, classes, std::move(weights))});
    } else if (open->sums.classes() != classes) {
      refuse_config("scores of " + at(piece.volume).name + " must be of " +
                        std::to_string(open->sums.classes()) + " classes as before",
                    std::to_string(classes));
    }
    piece.scores = scores.narrow(0, piece.row, piece.count).to(device);
    for (const auto& [name, target] : example.targets) {
      require_target(name, target, scores.size(0), grid.patch());
      if (piece.begun)
        piece.begun->targets.emplace(
            name, at::empty({1, extent[0], extent[1], extent[2]}, target.options().device(device)));
      piece.targets.emplace(name, target.narrow(0, piece.row, piece.count).to(device));
    }
    const OpenVolume& of = piece.begun ? *piece.begun : *open;
    if (of.targets.size() != piece.targets.size())
      refuse_config(
          "all windows of " + at(piece.volume).name + " must have the same targets",
          std::to_string(piece.targets.size()) + " beside " + std::to_string(of.targets.size()));
  }

  void take(Piece& piece, std::vector<Cases>& complete) {
    const WindowedVolume& one = at(piece.volume);
    if (piece.begun) open.emplace(std::move(*piece.begun));
    open->unread = open->unread || piece.unread;
    for (std::int64_t i = 0; i < piece.count; ++i) {
      const std::int64_t number = piece.window + i;
      open->sums.add(number, piece.scores[i]);
      const GridBox inside = one.grid.inside(number);
      for (const auto& [name, target] : piece.targets)
        detail::part_of(open->targets.at(name)[0], inside, {})
            .copy_(detail::part_of(target[i], inside, one.grid[number].begin));
    }
    volume = piece.volume;
    window = piece.window + piece.count;
    done += piece.count;
    if (window == one.grid.size()) complete.push_back(close());
  }

  Cases close() {
    Cases one{.scores = open->sums.means().unsqueeze(0),
              .origins = {{.index = static_cast<std::int64_t>(volume), .file = at(volume).name}}};
    one.example.targets = std::move(open->targets);
    one.example.rows = open->unread ? 0 : 1;
    if (open->unread) {
      one.example.present = at::zeros({1}, one.scores.options().dtype(at::kBool));
      one.unread = {0};
    }
    open.reset();
    ++volume;
    window = 0;
    return one;
  }

  std::shared_ptr<const std::vector<WindowedVolume>> volumes;
  WindowInferenceOptions options;
  std::int64_t all = 0;                 // windows of all volumes
  std::int64_t done = 0;                // of these
  std::size_t volume = 0;               // whose window is the next
  std::int64_t window = 0;              // its number
  std::optional<OpenVolume> open = {};  // that volume, once it has begun
};

WindowInference::WindowInference(std::shared_ptr<const std::vector<WindowedVolume>> volumes,
                                 WindowInferenceOptions options)
    : state_(std::make_unique<State>(std::move(volumes), std::move(options))) {}

WindowInference::~WindowInference() = default;

std::vector<Cases> WindowInference::add(Example example, const Batch& batch,
                                        const Predict& predict) {
  const at::NoGradGuard no_gradient;
  const std::vector<std::int64_t> unread = unread_rows(batch);
  std::vector<State::Piece> pieces = state_->pieces_of(batch.size(), unread);
  if (pieces.empty()) return {};
  state_->require_windows(example, batch, std::ssize(unread));
  const GridExtent& patch = state_->at(pieces.front().volume).grid.patch();
  const at::Tensor scores = state_->scores_of(example, predict, patch);
  for (State::Piece& piece : pieces)
    state_->prepare(piece, scores, example);
  std::vector<Cases> complete;
  for (State::Piece& piece : pieces)
    state_->take(piece, complete);
  return complete;
}

std::vector<Cases> WindowInference::finish() {
  if (state_->done < state_->all)
    refuse_data("there must be " + std::to_string(state_->all) + " windows, and " +
                    state_->at(state_->volume).name + " is not whole",
                std::to_string(state_->done));
  return {};
}

}  // namespace headrace::inline v1::training
