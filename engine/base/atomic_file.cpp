#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/atomic_file.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1 {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_mark = ".tmp-";

// A file as whoever asks for it is told of it.
struct Name {
  fs::path path;
  std::string who;

  [[noreturn]] void refuse(const std::string& what) const {
    throw ResourceError("[" + who + "] " + path.string() + ": " + what);
  }
  [[noreturn]] void fail(const std::string& step, int error) const {
    refuse("cannot " + step + ": " + std::generic_category().message(error));
  }
};

class Descriptor {
 public:
  Descriptor(Name name, int flags)
      : name_(std::move(name)), fd_(::open(name_.path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (fd_ < 0) name_.fail("open", errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  void reserve(std::size_t size) const {
    if (size == 0) return;
    const int error = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
    if (error != 0 && error != EOPNOTSUPP && error != EINVAL) name_.fail("reserve space", error);
  }

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) name_.fail("write", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  std::vector<std::byte> read() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) name_.fail("ask for the size", errno);
    if (!S_ISREG(status.st_mode)) name_.refuse("not a regular file");
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::read(fd_, bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) name_.fail("read", errno);
      if (got == 0) name_.refuse("the file became shorter while it was read");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  void sync() const {
    if (::fsync(fd_) != 0) name_.fail("sync", errno);
  }

  void close() {
    if (::close(std::exchange(fd_, -1)) != 0) name_.fail("close", errno);
  }

 private:
  Name name_;
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
  explicit Temporary(const Name& name) : name_(name), path_(temporary_for(name.path)) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  Name name() const { return {path_, name_.who}; }

  void give_name() {
    if (::rename(path_.c_str(), name_.path.c_str()) != 0)
      name_.fail("rename the temporary file to it", errno);
    path_.clear();
  }

 private:
  const Name& name_;
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

std::vector<std::byte> read_whole_file(const fs::path& path, std::string_view who) {
  return Descriptor({path, std::string(who)}, O_RDONLY | O_NONBLOCK).read();
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes,
                           const AtomicFileOptions& options) {
  const Name name{path, options.who};
  Temporary temporary(name);
  {
    Descriptor file(temporary.name(), O_WRONLY | O_CREAT | O_EXCL);
    file.reserve(bytes.size());
    file.write(bytes);
    file.sync();
    file.close();
  }
  const std::vector<std::byte> written = read_whole_file(temporary.name().path, options.who);
  if (!std::ranges::equal(written, bytes))
    temporary.name().refuse("reads back differently from what was written");
  if (options.verify) options.verify(written);
  temporary.give_name();
  Descriptor({folder_of(path), options.who}, O_RDONLY | O_DIRECTORY).sync();
}

void write_file_atomically(const fs::path& path, std::string_view text,
                           const AtomicFileOptions& options) {
  write_file_atomically(path, std::as_bytes(std::span(text)), options);
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

}  // namespace headrace::inline v1
