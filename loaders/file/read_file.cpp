#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/cached_file.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/file/read_file.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {
namespace {

[[noreturn]] void cannot_read(std::string_view path, const std::string& rule) {
  throw DataError("file " + printable(path) + ": " + rule);
}

/// A file server has forgotten the file that the name stood for a moment ago.
struct Stale {};

/// What errno says of a call that failed. Lack of memory or descriptors is no fault of the file's.
[[noreturn]] void call_failed(std::string_view path, const char* what) {
  const int error = errno;
  if (error == ESTALE) throw Stale();
  const std::string text = what + std::generic_category().message(error);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    throw ResourceError("file " + printable(path) + ": " + text +
                        "; raise the limits of the process, or use fewer I/O threads");
  }
  cannot_read(path, text);
}

/// Valid until the thread asks for another.
const char* full_path(std::string_view root, std::string_view path) {
  static thread_local std::string full;
  full.assign(root).append("/").append(path);
  return full.c_str();
}

}  // namespace

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

namespace {

void read_once(std::string_view root, std::string_view path, std::uint64_t bytes,
               std::string_view field, Sample& sample) {
  const FileDescriptor file(full_path(root, path));
  if (file.number() < 0) call_failed(path, "cannot be opened: ");
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) call_failed(path, "cannot be read: ");
  if (!S_ISREG(status.st_mode)) cannot_read(path, "is no regular file any more");
  if (static_cast<std::uint64_t>(status.st_size) != bytes) {
    cannot_read(path, "must be " + std::to_string(bytes) + " bytes as when it was listed, got " +
                          std::to_string(status.st_size));
  }
  if (bytes == 0) cannot_read(path, "is empty");
  Tensor& tensor = sample.make(field, DType::uint8, Shape{static_cast<std::int64_t>(bytes)});
  const std::int64_t got =
      pread_all(file.number(), static_cast<std::byte*>(tensor.raw()), tensor.bytes(), 0);
  if (got < 0) call_failed(path, "cannot be read: ");
  if (static_cast<std::uint64_t>(got) != bytes) {
    cannot_read(path, "must be " + std::to_string(bytes) +
                          " bytes as when it was listed, ends after " + std::to_string(got));
  }
}

}  // namespace

/// Reads anew, after 1, 8 and 64 ms, what a file server has forgotten.
void read_listed_file(std::string_view root, std::string_view path, std::uint64_t bytes,
                      std::string_view field, Sample& sample) {
  for (int pause = 1; pause <= 64; pause *= 8) {
    try {
      return read_once(root, path, bytes, field, sample);
    } catch (const Stale&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    }
  }
  try {
    read_once(root, path, bytes, field, sample);
  } catch (const Stale&) {
    cannot_read(path, "cannot be read: " + std::generic_category().message(ESTALE));
  }
}

}  // namespace headrace::inline v1::detail
