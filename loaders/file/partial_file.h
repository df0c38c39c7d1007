#pragma once

#include <headrace/loaders/file/file_descriptor.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace::inline v1::detail {

/// A large file in the making, `path`.partial, that a later run may go on with. Locked: another run
/// that wants it is refused. Throws ResourceError that begins with "[who]". Used by one thread at a
/// time.
class PartialFile {
 public:
  /// Opens it, with what an earlier run has left, or makes it.
  PartialFile(std::string path, std::string who);
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  std::uint64_t size() const;
  /// Whether there were as many bytes.
  bool read(void* to, std::size_t bytes, std::uint64_t offset) const;
  void write(const void* from, std::size_t bytes, std::uint64_t offset);
  void resize(std::uint64_t bytes);
  /// Puts on the disk what was written, so that it is there after any end of the process.
  void sync();
  /// Puts all of it on the disk; then the file takes its name.
  void finish();

 private:
  [[noreturn]] void fail(const char* step) const;

  std::string path_;
  std::string partial_;
  std::string who_;
  FileDescriptor file_{-1};
};

}  // namespace headrace::inline v1::detail
