#pragma once

#include <filesystem>
#include <utility>

namespace headrace::inline v1::app {

/// Keeps a folder for one process, until it is destroyed or the process ends, however it ends
/// (flock(2) on the folder; where the file system has no locks, nothing is kept).
class FolderLock {
 public:
  /// Throws ConfigError when another holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  int folder_;
};

}  // namespace headrace::inline v1::app
