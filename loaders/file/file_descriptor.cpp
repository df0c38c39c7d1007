#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/file_descriptor.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

/// An interrupted call is made again.
int open_file(const char* path) noexcept {
  int number = -1;
  do {
    number = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  return number;
}

}  // namespace

FileDescriptor::FileDescriptor(const char* path) noexcept : number_(open_file(path)) {}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

FileDescriptor nameless_file(const std::filesystem::path& folder, const char* pattern) {
  int made = -1;
  do {
    made = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  } while (made < 0 && errno == EINTR);
  if (made >= 0) return FileDescriptor(made);
  std::string name = (folder / pattern).native();
  made = ::mkostemp(name.data(), O_CLOEXEC);
  if (made >= 0) ::unlink(name.c_str());
  return FileDescriptor(made);
}

std::string error_text() {
  return std::generic_category().message(errno);
}

void file_failed(const std::string& what, int error, const char* advice) {
  if (error == EMFILE || error == ENFILE || error == ENOMEM)
    throw ResourceError(what + "; raise the limits of the process");
  if (error == EIO || error == ESTALE) throw DataError(what + "; check the disk");
  throw ConfigError(what + advice);
}

std::int64_t pread_all(int file, std::byte* to, std::size_t bytes, std::uint64_t offset) noexcept {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (got == 0) {
      break;
    } else if (errno != EINTR) {
      return -1;
    }
  }
  return static_cast<std::int64_t>(done);
}

bool pwrite_all(int file, const std::byte* from, std::size_t bytes, std::uint64_t offset) noexcept {
  while (bytes > 0) {
    const ssize_t put = ::pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = EIO;
    if (put <= 0) return false;
    from += put;
    offset += static_cast<std::uint64_t>(put);
    bytes -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace headrace::inline v1::detail
