#include <headrace/apps/run/atomic_file.h>

#include <headrace/engine/base/error.h>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const char* step) {
  const int code = errno;
  throw ResourceError(
      fmt::format("[run folder] {}: cannot {}: {}", file.string(), step, std::strerror(code)));
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

void write_all(int descriptor, std::string_view content, const fs::path& file) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(file, "write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void write_file_atomically(const fs::path& file, std::string_view content) {
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::string temporary = file.string() + ".XXXXXX";
  const Descriptor out(mkostemp(temporary.data(), O_CLOEXEC));
  if (out.number() < 0) refuse(file, "create");
  try {
    write_all(out.number(), content, file);
    if (fchmod(out.number(), 0644) != 0 || fsync(out.number()) != 0) refuse(file, "write");
    if (std::rename(temporary.c_str(), file.c_str()) != 0) refuse(file, "rename");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || fsync(directory.number()) != 0) refuse(folder, "sync");
}

}  // namespace headrace::inline v1::app
