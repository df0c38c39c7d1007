#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/checkpoint.h>
#include <headrace/training/checkpoint/checkpoint_store.h>

#include <exception>
#include <future>
#include <optional>

#include <c10/core/Event.h>

namespace headrace::inline v1::training {

/// What came of a save.
struct SaveOutcome {
  Progress progress = {};      ///< that was to be saved
  SavedCheckpoint saved = {};  ///< without a path if it failed
  /// Why it failed: `CheckpointError`, `NumericError` for a weight that is not finite.
  std::exception_ptr error = {};
  /// Best weights that were to be written with it and are not, to be given to the next save.
  std::optional<BestWeights> unsaved_best = {};
};

/// Of the thread that writes.
enum class SavePriority {
  behind_steps,  ///< the lowest: without a free core a save takes longer, the steps do not
  as_caller,     ///< for a save that the caller waits for
};

/// Writes checkpoints by a thread of its own while training goes on, one at a time. The state is
/// copied once, into memory that is kept from save to save; all else (format, checksum, writing,
/// syncing, comparing, renaming, removing older ones) is the thread's. While it is busy the store
/// is its own. Not thread-safe: one thread calls it.
class HEADRACE_API CheckpointWriter {
 public:
  /// The store outlives the writer.
  explicit CheckpointWriter(CheckpointStore& store) : store_(store) {}
  /// Waits for the save under way; not in a forked process, where `outcome` of it throws
  /// PipelineError.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// A save was begun whose outcome was not taken yet.
  bool busy() const { return under_way_.valid(); }

  /// What the next save is to write, to be changed by `update_snapshot`; it holds what the last one
  /// wrote. Not to be touched while busy.
  Checkpoint& state() { return state_; }

  /// Begins to save the state once all is done that the calling thread has queued for `device`, and
  /// before it the best weights; where these have no tensors, those of the state are meant, the
  /// averaged ones where it has them. Must not be busy.
  void begin(std::optional<BestWeights> best = {}, at::Device device = at::kCPU,
             SavePriority priority = SavePriority::behind_steps);

  /// What came of the save that was begun, once; with `wait`, waits for it. Empty while it is under
  /// way, and where there is none.
  std::optional<SaveOutcome> outcome(bool wait);

 private:
  SaveOutcome save();

  CheckpointStore& store_;
  Checkpoint state_;
  std::optional<BestWeights> best_;
  std::optional<c10::Event> copied_;
  unsigned forks_ = 0;                  // before the save was begun
  std::future<SaveOutcome> under_way_;  // the last member: its destructor waits for the thread
};

}  // namespace headrace::inline v1::training
