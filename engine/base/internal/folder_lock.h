#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>

namespace headrace::inline v1 {

/// Keeps a folder for one owner, until it is destroyed or the process ends, however it ends
/// (flock(2) on the folder, which other machines see, too; where the file system has no locks,
/// nothing is kept).
class HEADRACE_API FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Another owner, of this process or another, had it.
  bool refused() const { return refused_; }

 private:
  int folder_;
  bool refused_ = false;
};

}  // namespace headrace::inline v1
