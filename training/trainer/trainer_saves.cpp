#include <headrace/engine/torch/device_event.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/errors.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/ops/tensor.h>

// When a run is saved, and what comes of it.
namespace headrace::inline v1::training {

namespace {

constexpr int most_doublings = 10;

void add_part(TensorMap& all, const std::string& prefix, const TensorMap& part) {
  for (const auto& [name, tensor] : part)
    all.emplace(prefix + name, tensor);
}

}  // namespace

Checkpoint Trainer::Loop::checkpoint() const {
  Checkpoint checkpoint;
  fill(checkpoint);
  if (options_.device.is_cuda()) event_behind(options_.device).synchronize();
  return checkpoint;
}

void Trainer::Loop::fill(Checkpoint& checkpoint) const {
  TensorMap counters;
  add_part(counters, detail::of_losses, losses_.state());
  if (metric_) add_part(counters, detail::of_metric, metric_->state());
  if (nan_.state().defined()) counters.emplace(detail::of_nan, nan_.state());
  if (counted_rows_ > 0)
    counters.emplace(detail::counted_before, at::tensor({counted_rows_}, at::kLong));
  checkpoint.progress = progress_;
  update_snapshot(checkpoint.weights, parts_.network);
  update_snapshot(checkpoint.optimizer, parts_.optimizer.state());
  update_snapshot(checkpoint.ema, average_ ? average_->state() : TensorMap{});
  const GradScaler* scaler = update_.scaler();
  update_snapshot(checkpoint.scaler, scaler != nullptr ? scaler->state() : TensorMap{});
  update_snapshot(checkpoint.rng, capture_rng_state());
  update_snapshot(checkpoint.counters, counters);
  update_snapshot(checkpoint.fitted, fitted_);
  checkpoint.identity = options_.identity;
  checkpoint.notes = options_.notes;
}

// Whether this step is one to be saved behind.
bool Trainer::Loop::save_is_due() const {
  if (!writer_) return false;
  return progress_.step == 1 ||
         (options_.checkpoint_every > 0 && progress_.step % options_.checkpoint_every == 0);
}

void Trainer::Loop::save_behind_step() {
  if (!writer_) return;
  take_outcome(false, OnFailure::count);
  save_waits_ = save_waits_ || save_is_due();
  if (progress_.step == 1 && parts_.checkpoints->list().empty()) return save(true);
  if (save_waits_ && !writer_->busy() && progress_.step >= retry_at_) save(false);
}

// Begins to save what is now; with `must` it is durable when this returns.
void Trainer::Loop::save(bool must) {
  if (!writer_) return;
  take_outcome(true, must ? OnFailure::warn : OnFailure::count);
  settle();
  if (reload_wanted_) return;  // of a device, known just now
  save_waits_ = false;
  fill(writer_->state());
  writer_->begin(std::exchange(unsaved_best_, {}), options_.device,
                 must ? SavePriority::as_caller : SavePriority::behind_steps);
  if (must) take_outcome(true, OnFailure::raise);
}

void Trainer::Loop::take_outcome(bool wait, OnFailure on_failure) {
  std::optional<SaveOutcome> outcome = writer_->outcome(wait);
  if (!outcome) return;
  if (!unsaved_best_) unsaved_best_ = std::move(outcome->unsaved_best);
  if (outcome->error) return tell_of_failure(*outcome, on_failure);
  failed_saves_ = 0;
  retry_at_ = 0;
  if (callbacks_.on_warning)
    for (const std::string& warning : outcome->saved.warnings)
      callbacks_.on_warning(warning);
  if (callbacks_.on_checkpoint) callbacks_.on_checkpoint(outcome->saved.path, outcome->progress);
}

// Training can go on for a while without a checkpoint that the disk did not take.
void Trainer::Loop::tell_of_failure(const SaveOutcome& outcome, OnFailure on_failure) {
  try {
    std::rethrow_exception(outcome.error);
  } catch (const CheckpointError& error) {
    ++failed_saves_;
    const bool too_many = failed_saves_ >= options_.failed_saves;
    if (on_failure == OnFailure::raise || (on_failure == OnFailure::count && too_many)) throw;
    retry_at_ =
        progress_.step + (options_.checkpoint_every << std::min(failed_saves_ - 1, most_doublings));
    if (callbacks_.on_warning)
      callbacks_.on_warning(std::string(error.what()) +
                            "; training goes on, the checkpoint before stays");
  }
}

}  // namespace headrace::inline v1::training
