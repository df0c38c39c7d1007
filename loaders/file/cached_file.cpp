#include <headrace/loaders/file/cached_file.h>

#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace headrace::inline v1::detail {

int open_cached(const char* path) noexcept {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how));
}

bool read_cached(int file, std::byte* to, std::size_t bytes, std::uint64_t offset) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    iovec rest{to + done, bytes - done};
    ssize_t got = ::preadv2(file, &rest, 1, static_cast<off_t>(offset + done), RWF_NOWAIT);
    if (got < 0 && errno == EOPNOTSUPP) {
      struct statfs system {};  // tmpfs has no disk to wait for, and does not know the flag
      if (::fstatfs(file, &system) != 0 || system.f_type != TMPFS_MAGIC) return false;
      got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    }
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace headrace::inline v1::detail
