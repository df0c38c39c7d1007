#include <headrace/engine/base/error.h>
#include <headrace/engine/base/internal/plain_file.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1 {

PlainFile::PlainFile(std::filesystem::path path, int flags, std::string_view who)
    : path_(std::move(path)), who_(who), fd_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
  if (fd_ < 0) fail("open", errno);
}

PlainFile::~PlainFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t PlainFile::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) fail("ask for the size", errno);
  if (!S_ISREG(status.st_mode)) refuse("not a regular file");
  return static_cast<std::uint64_t>(status.st_size);
}

void PlainFile::reserve(std::uint64_t size) {
  reserved_ = size;
  if (size == 0) return;
  int error = EINTR;
  while (error == EINTR)
    error = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL) fail("reserve space", error);
}

void PlainFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void PlainFile::read(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::read(fd_, into.data(), into.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("read", errno);
    if (got == 0) refuse("the file became shorter while it was read");
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

void PlainFile::sync() {
  while (::fsync(fd_) != 0)
    if (errno != EINTR) fail("sync", errno);
}

void PlainFile::close() {
  if (::close(std::exchange(fd_, -1)) != 0) fail("close", errno);
}

void PlainFile::refuse(const std::string& what) const {
  throw ResourceError("[" + who_ + "] " + path_.string() + ": " + what);
}

void PlainFile::fail(const std::string& step, int error) const {
  std::string what = "cannot " + step + ": " + std::generic_category().message(error);
  if (reserved_ > 0 && (error == ENOSPC || error == EDQUOT)) {
    std::error_code unknown;
    const auto space = std::filesystem::space(
        path_.has_parent_path() ? path_.parent_path() : std::filesystem::path("."), unknown);
    what += "; " + std::to_string(reserved_) + " bytes are needed";
    if (!unknown) what += ", " + std::to_string(space.available) + " are free";
  }
  refuse(what);
}

}  // namespace headrace::inline v1
