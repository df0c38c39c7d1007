#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/engine/base/internal/folder_lock.h>
#include <headrace/training/checkpoint/checkpoint_store.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

namespace headrace::inline v1::training {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view name_prefix = "checkpoint-";
constexpr std::string_view name_suffix = ".safetensors";

// The number in a checkpoint's name, or -1 for any other file.
std::int64_t number_of(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(name_prefix) || !name.ends_with(name_suffix) ||
      name.size() <= name_prefix.size() + name_suffix.size())
    return -1;
  const char* first = name.data() + name_prefix.size();
  const char* last = name.data() + name.size() - name_suffix.size();
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(first, last, number);
  return error == std::errc{} && end == last && number >= 0 ? number : -1;
}

fs::path name_for(std::int64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%06lld", static_cast<long long>(number));
  return std::string(name_prefix) + digits + std::string(name_suffix);
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, CheckpointStoreOptions options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (options_.keep < 1)
    throw ConfigError("[checkpoint] keep must be at least 1, got " + std::to_string(options_.keep));
  try {
    fs::create_directories(folder_);
    for (const fs::path& stale : remove_stale_temporaries(folder_))
      warn("[checkpoint] " + stale.string() +
           ": removed, a process that no longer runs left it half written");
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError("[checkpoint] " + folder_.string() +
                          ": cannot be used: " + error.code().message());
  }
}

CheckpointStore::~CheckpointStore() = default;

void CheckpointStore::warn(const std::string& message) const {
  if (options_.warn) options_.warn(message);
}

std::vector<fs::path> CheckpointStore::list() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error))
    if (number_of(entry->path()) >= 0) files.push_back(entry->path());
  if (error)
    throw CheckpointError("[checkpoint] " + folder_.string() +
                          ": cannot be listed: " + error.message());
  std::ranges::sort(files, std::ranges::greater{}, number_of);
  return files;
}

void CheckpointStore::lock() {
  if (lock_) return;
  auto lock = std::make_unique<FolderLock>(folder_);
  if (lock->refused())
    throw CheckpointError("[checkpoint] " + folder_.string() +
                          ": another training writes its checkpoints there; stop that one first, "
                          "or give this one a folder of its own");
  lock_ = std::move(lock);
}

SavedCheckpoint CheckpointStore::save(const Checkpoint& checkpoint) {
  lock();
  const std::vector<fs::path> files = list();
  const fs::path path = folder_ / name_for(files.empty() ? 1 : number_of(files.front()) + 1);
  write_checkpoint(path, checkpoint);
  return {.path = path, .warnings = prune()};
}

std::vector<std::string> CheckpointStore::prune() {
  std::vector<std::string> warnings;
  int kept = 0;
  for (const fs::path& path : list()) {
    if (unreadable_.contains(path) || ++kept <= options_.keep) continue;
    std::error_code error;
    if (!fs::remove(path, error) && error)
      warnings.push_back("[checkpoint] " + path.string() +
                         ": an old checkpoint could not be removed: " + error.message());
  }
  return warnings;
}

std::optional<Checkpoint> CheckpointStore::load_latest() {
  const std::vector<fs::path> files = list();
  std::string last_error;
  for (const fs::path& path : files) {
    try {
      Checkpoint checkpoint = read_checkpoint(path);
      if (!last_error.empty())
        warn("[checkpoint] going on from the previous good one, " + path.string());
      return checkpoint;
    } catch (const CheckpointError& error) {
      last_error = error.what();
      unreadable_.insert(path);
      warn(last_error);
    }
  }
  if (files.empty()) return std::nullopt;
  throw CheckpointError("[checkpoint] " + folder_.string() + ": none of " +
                        std::to_string(files.size()) +
                        " checkpoints can be read; the oldest: " + last_error);
}

void CheckpointStore::save_best(const BestWeights& best) {
  lock();
  write_best_weights(best_path(), best);
}

}  // namespace headrace::inline v1::training
