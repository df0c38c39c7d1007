#include <fcntl.h>
#include <headrace/training/atomic_file.h>
#include <headrace/training/checkpoint_error.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace headrace::inline v1::training {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";

[[noreturn]] void fail(const char* what, const fs::path& path, int error) {
  throw CheckpointError("[checkpoint] " + path.string() + ": cannot " + what + ": " +
                        std::generic_category().message(error));
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) fail("open", path_, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  void reserve(std::size_t size) const {
    if (size == 0) return;
    const int error = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL) fail("reserve space", path_, error);
  }

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("write", path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  std::vector<std::byte> read() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail("ask for the size", path_, errno);
    if (!S_ISREG(status.st_mode))
      throw CheckpointError("[checkpoint] " + path_.string() + ": not a regular file");
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::read(fd_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("read", path_, errno);
      if (got == 0)
        throw CheckpointError("[checkpoint] " + path_.string() +
                              ": the file became shorter while it was read");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  void sync() const {
    if (::fsync(fd_) != 0) fail("sync", path_, errno);
  }

  void close() {
    if (::close(std::exchange(fd_, -1)) != 0) fail("close", path_, errno);
  }

 private:
  fs::path path_;
  int fd_;
};

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

fs::path temporary_for(const fs::path& path) {
  static std::atomic<unsigned> number{0};
  return path.string() + std::string(temporary_mark) + std::to_string(::getpid()) + "-" +
         std::to_string(number++);
}

// Removes the temporary file unless it has got its name.
class Temporary {
 public:
  explicit Temporary(fs::path path) : path_(std::move(path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  const fs::path& path() const { return path_; }

  void rename_to(const fs::path& path) {
    if (::rename(path_.c_str(), path.c_str()) != 0)
      fail("rename the temporary file to it", path, errno);
    path_.clear();
  }

 private:
  fs::path path_;
};

// Process that made a temporary file, or 0 for any other name.
pid_t maker_of(const std::string& name) {
  const std::size_t mark = name.rfind(temporary_mark);
  if (mark == std::string::npos) return 0;
  const char* first = name.data() + mark + temporary_mark.size();
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(first, name.data() + name.size(), pid);
  return error == std::errc{} && end != first && *end == '-' && pid > 0 ? pid : 0;
}

}  // namespace

std::vector<std::byte> read_file(const fs::path& path) {
  return Descriptor(path, O_RDONLY | O_NONBLOCK).read();
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes,
                           const std::function<void(const std::vector<std::byte>&)>& verify) {
  Temporary temporary(temporary_for(path));
  {
    Descriptor file(temporary.path(), O_WRONLY | O_CREAT | O_EXCL);
    file.reserve(bytes.size());
    file.write(bytes);
    file.sync();
    file.close();
  }
  const std::vector<std::byte> written = read_file(temporary.path());
  if (!std::ranges::equal(written, bytes))
    throw CheckpointError("[checkpoint] " + temporary.path().string() +
                          ": reads back differently from what was written");
  if (verify) verify(written);
  temporary.rename_to(path);
  Descriptor(folder_of(path), O_RDONLY | O_DIRECTORY).sync();
}

std::vector<fs::path> remove_stale_temporaries(const fs::path& folder) {
  std::vector<fs::path> removed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const pid_t maker = maker_of(entry.path().filename().string());
    if (maker == 0 || maker == ::getpid() || ::kill(maker, 0) == 0 || errno != ESRCH) continue;
    std::error_code ignored;
    if (fs::remove(entry.path(), ignored)) removed.push_back(entry.path());
  }
  return removed;
}

}  // namespace headrace::inline v1::training
