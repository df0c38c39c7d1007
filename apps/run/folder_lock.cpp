#include <headrace/apps/run/folder_lock.h>
#include <headrace/engine/base/error.h>

#include <cerrno>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace headrace::inline v1::app {

FolderLock::FolderLock(const std::filesystem::path& folder)
    : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (folder_ < 0 || ::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(folder_);
  throw ConfigError(
      fmt::format("[run folder] {}: another program is at work in it; stop that one first, and "
                  "wait until it has saved",
                  folder.string()));
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) ::close(folder_);
}

}  // namespace headrace::inline v1::app
