#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/partial_file.h>
#include <headrace/loaders/file/printable.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace headrace::inline v1::detail {

PartialFile::PartialFile(std::string path, std::string who)
    : path_(std::move(path)), partial_(path_ + ".partial"), who_(std::move(who)) {
  do {
    file_ = FileDescriptor(::open(partial_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  } while (file_.number() < 0 && errno == EINTR);
  if (file_.number() < 0) fail("create");
  const std::string name = "[" + who_ + "] " + printable(partial_);
  if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0)
    throw ResourceError(name + ": another run is writing it; wait for its end");
  // Between the two calls above, the run that held the file may have finished it.
  struct stat ours {};
  struct stat named {};
  if (::fstat(file_.number(), &ours) != 0 || ::stat(partial_.c_str(), &named) != 0 ||
      ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
    throw ResourceError(name + ": another run has just finished it; run it again to pack anew");
  }
}

void PartialFile::fail(const char* step) const {
  const std::string why = error_text();
  struct stat status {};
  const std::string there = file_.number() >= 0 && ::fstat(file_.number(), &status) == 0
                                ? std::to_string(status.st_size)
                                : std::string("0");
  throw ResourceError("[" + who_ + "] " + printable(partial_) + ": cannot " + step + ": " + why +
                      " (" + there +
                      " bytes are written); make room or name another file, and run it again to go "
                      "on");
}

std::uint64_t PartialFile::size() const {
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail("read");
  return static_cast<std::uint64_t>(status.st_size);
}

bool PartialFile::read(void* to, std::size_t bytes, std::uint64_t offset) const {
  const std::int64_t got = pread_all(file_.number(), static_cast<std::byte*>(to), bytes, offset);
  if (got < 0) fail("read");
  return static_cast<std::size_t>(got) == bytes;
}

void PartialFile::write(const void* from, std::size_t bytes, std::uint64_t offset) {
  if (!pwrite_all(file_.number(), static_cast<const std::byte*>(from), bytes, offset))
    fail("write");
}

void PartialFile::resize(std::uint64_t bytes) {
  if (::ftruncate(file_.number(), static_cast<off_t>(bytes)) != 0) fail("resize");
}

void PartialFile::sync() {
  if (::fdatasync(file_.number()) != 0) fail("sync");
}

void PartialFile::finish() {
  if (::fsync(file_.number()) != 0 || std::rename(partial_.c_str(), path_.c_str()) != 0)
    fail("finish");
  const auto folder = std::filesystem::path(path_).parent_path();
  const FileDescriptor directory(folder.empty() ? "." : folder.c_str());
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) fail("sync");
}

}  // namespace headrace::inline v1::detail
