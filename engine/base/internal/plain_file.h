#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

/// An open file, read or written from its beginning on. All calls throw ResourceError that begins
/// with "[who] path" and says which step failed and why. Not thread-safe.
class HEADRACE_API PlainFile {
 public:
  /// `flags` are those of open(2); a file that is created is 0644.
  PlainFile(std::filesystem::path path, int flags, std::string_view who = "file");
  ~PlainFile();
  PlainFile(const PlainFile&) = delete;
  PlainFile& operator=(const PlainFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// In bytes; only a regular file has one.
  std::uint64_t size() const;

  /// Takes the space for `size` bytes where the file system can; else, and where a write finds
  /// none, the message says how much is needed and how much is free.
  void reserve(std::uint64_t size);
  void write(std::span<const std::byte> bytes);
  /// Fills `into`; a file that ends before is refused.
  void read(std::span<std::byte> into);
  void sync();
  /// Also done, without an error, by the destructor.
  void close();

  [[noreturn]] void refuse(const std::string& what) const;

 private:
  [[noreturn]] void fail(const std::string& step, int error) const;

  std::filesystem::path path_;
  std::string who_;
  int fd_;
  std::uint64_t reserved_ = 0;
};

}  // namespace headrace::inline v1
