#include <headrace/loaders/image/detail/read_file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <headrace/engine/error.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/image/detail/image_listing.h>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void cannot_read(std::string_view path, const std::string& rule) {
  throw DataError("file " + printable(path) + ": " + rule);
}

/// Valid until the thread asks for another.
const char* full_path(std::string_view root, std::string_view path) {
  static thread_local std::string full;
  full.assign(root).append("/").append(path);
  return full.c_str();
}

}  // namespace

FileDescriptor::FileDescriptor(const char* path) noexcept
    : number_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string error_text() {
  return std::generic_category().message(errno);
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

bool read_listed_file_now(std::string_view root, std::string_view path, std::uint64_t bytes,
                          std::string_view field, Sample& sample) {
  const FileDescriptor file(open_cached(full_path(root, path)));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != bytes || bytes == 0)
    return false;
  Tensor& tensor = sample.make(field, DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  return read_cached(file.number(), static_cast<std::byte*>(tensor.raw()), bytes, 0);
}

void read_listed_file(std::string_view root, std::string_view path, std::uint64_t bytes,
                      std::string_view field, Sample& sample) {
  const FileDescriptor file(full_path(root, path));
  if (file.number() < 0) cannot_read(path, "cannot be opened: " + error_text());
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) cannot_read(path, "cannot be read: " + error_text());
  if (!S_ISREG(status.st_mode)) cannot_read(path, "is no regular file any more");
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    cannot_read(path, "must be " + std::to_string(bytes) + " bytes as when it was listed, got " +
                          std::to_string(status.st_size));
  }
  if (bytes == 0) cannot_read(path, "is empty");
  Tensor& tensor = sample.make(field, DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  const std::int64_t got =
      pread_all(file.number(), static_cast<std::byte*>(tensor.raw()), tensor.bytes(), 0);
  if (got < 0) cannot_read(path, "cannot be read: " + error_text());
  if (static_cast<std::uint64_t>(got) != bytes) {
    cannot_read(path, "must be " + std::to_string(bytes) +
                          " bytes as when it was listed, ends after " + std::to_string(got));
  }
}

}  // namespace headrace::inline v1::detail
