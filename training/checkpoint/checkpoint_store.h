#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/best_weights.h>
#include <headrace/training/checkpoint/checkpoint.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace headrace::inline v1 {
class FolderLock;
}

namespace headrace::inline v1::training {

struct CheckpointStoreOptions {
  int keep = 2;  ///< good checkpoints that stay, at least 1
  /// Told, in a sentence, of every checkpoint that could not be read and every stale file removed.
  std::function<void(const std::string& message)> warn = {};
};

/// What came of `CheckpointStore::save`.
struct SavedCheckpoint {
  std::filesystem::path path = {};
  std::vector<std::string> warnings = {};  ///< of older checkpoints that could not be removed
};

/// The checkpoints of a run in one folder: `checkpoint-000001.safetensors` and so on, and
/// `best.safetensors` with the weights of the best evaluation. The largest number is the last:
/// there is no other name for it that could point elsewhere. The first save takes the folder for
/// this store until it is destroyed: two trainings in one folder would go on from each other's. Not
/// thread-safe.
class HEADRACE_API CheckpointStore {
 public:
  /// Makes the folder with its parents and removes what crashed processes left half written. Throws
  /// `CheckpointError`.
  explicit CheckpointStore(std::filesystem::path folder, CheckpointStoreOptions options = {});
  ~CheckpointStore();

  const std::filesystem::path& folder() const { return folder_; }

  /// Writes the next checkpoint, then removes older ones beyond those to keep. A failure leaves the
  /// others as they are. Throws `CheckpointError`, also where another store has the folder.
  SavedCheckpoint save(const Checkpoint& checkpoint);

  /// The newest checkpoint that can be read; warns of every newer one that cannot. Empty if the
  /// folder has none; throws `CheckpointError` if it has some and none can be read.
  std::optional<Checkpoint> load_latest();

  /// Checkpoint files, the newest first. Throws `CheckpointError`.
  std::vector<std::filesystem::path> list() const;

  /// Replaces `best.safetensors`. Throws `CheckpointError`.
  void save_best(const BestWeights& best);

  std::filesystem::path best_path() const { return folder_ / "best.safetensors"; }

 private:
  void warn(const std::string& message) const;
  void lock();
  std::vector<std::string> prune();

  std::filesystem::path folder_;
  CheckpointStoreOptions options_;
  std::set<std::filesystem::path> unreadable_;
  std::unique_ptr<FolderLock> lock_;  // from the first save on
};

}  // namespace headrace::inline v1::training
