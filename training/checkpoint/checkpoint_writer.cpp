#include <headrace/engine/base/error.h>
#include <headrace/engine/base/give_way.h>
#include <headrace/engine/base/internal/home_process.h>
#include <headrace/engine/torch/device_event.h>
#include <headrace/training/checkpoint/checkpoint_writer.h>
#include <headrace/training/errors.h>

#include <chrono>
#include <utility>

namespace headrace::inline v1::training {
namespace {

void require_finite(const TensorMap& weights, const char* which, const Progress& progress) {
  if (const auto name = first_not_finite(weights))
    throw NumericError("[trainer] step " + std::to_string(progress.step) + ": all " + which +
                       " must be finite to be saved, \"" + *name +
                       "\" holds values that are not; the checkpoint before stays");
}

}  // namespace

CheckpointWriter::~CheckpointWriter() {
  // The future would wait for a thread that is in another process.
  if (busy() && forks_ != headrace::detail::forks())
    static_cast<void>(new std::future<SaveOutcome>(std::move(under_way_)));
}

void CheckpointWriter::begin(std::optional<BestWeights> best, at::Device device,
                             SavePriority priority) {
  best_ = std::move(best);
  if (best_ && best_->weights.empty())
    best_->weights = state_.ema.empty() ? state_.weights : state_.ema;
  if (device.is_cuda()) copied_ = event_behind(device);
  forks_ = headrace::detail::forks();
  under_way_ = std::async(std::launch::async, [this, priority] {
    if (priority == SavePriority::behind_steps) give_way();
    return save();
  });
}

SaveOutcome CheckpointWriter::save() {
  SaveOutcome outcome{.progress = state_.progress};
  try {
    if (copied_) copied_->synchronize();
    require_finite(state_.weights, "weights", state_.progress);
    require_finite(state_.ema, "averaged weights", state_.progress);
    if (best_) {
      require_finite(best_->weights, "best weights", state_.progress);
      store_.save_best(*best_);
      best_.reset();
    }
    outcome.saved = store_.save(state_);
  } catch (...) {
    outcome.error = std::current_exception();
    outcome.unsaved_best = std::exchange(best_, {});
    // They may be tensors of the state, and must stay as they are.
    if (outcome.unsaved_best) {
      state_.weights.clear();
      state_.ema.clear();
    }
  }
  return outcome;
}

std::optional<SaveOutcome> CheckpointWriter::outcome(bool wait) {
  if (!busy()) return std::nullopt;
  if (forks_ != headrace::detail::forks())
    throw PipelineError(
        "[checkpoints] the save under way is that of the process that this one was forked from; "
        "fork before training begins");
  if (!wait && under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  return under_way_.get();
}

}  // namespace headrace::inline v1::training
