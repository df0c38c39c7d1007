#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace headrace::inline v1::detail {

/// An open file; closed with the object.
class FileDescriptor {
 public:
  /// Takes the descriptor over.
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  /// For reading; does not wait for pipes. number() is -1 when it cannot be opened; errno says why.
  explicit FileDescriptor(const char* path) noexcept;
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int number() const noexcept { return number_; }

 private:
  int number_;
};

/// A new file for reading and writing without a name; where the file system has none such, one that
/// loses its name, of mkostemp()'s `pattern`, at once. number() is -1 when it cannot be made; errno
/// says why.
FileDescriptor nameless_file(const std::filesystem::path& folder, const char* pattern);

/// What errno says.
std::string error_text();

/// Throws what `error` means for a file that cannot be opened or listed: a ResourceError where the
/// process lacks descriptors or memory, a DataError where the disk is to blame, else a ConfigError.
[[noreturn]] void file_failed(const std::string& what, int error, const char* advice);

/// Bytes that could be read from `offset` on, fewer than asked for only at the file's end; -1 and
/// errno for an error.
std::int64_t pread_all(int file, std::byte* to, std::size_t bytes, std::uint64_t offset) noexcept;

/// Whether all was written from `offset` on; errno says why it was not.
bool pwrite_all(int file, const std::byte* from, std::size_t bytes, std::uint64_t offset) noexcept;

}  // namespace headrace::inline v1::detail
