#pragma once

#include <headrace/loaders/file/file_descriptor.h>

#include <cstddef>
#include <utility>

namespace headrace::inline v1::detail {

/// Memory that two processes see. It grows and never shrinks, so that neither can take it from the
/// other.
class SharedWindow {
 public:
  /// Throws ResourceError where the system gives none.
  SharedWindow();
  /// Made by another process.
  explicit SharedWindow(FileDescriptor file) noexcept : file_(std::move(file)) {}
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int descriptor() const noexcept { return file_.number(); }
  /// Makes it at least that large, for who made it. Throws ResourceError.
  void grow(std::size_t bytes);
  /// The first `bytes` of it, mapped here; places may change from call to call. Throws
  /// ResourceError, also where it is smaller.
  std::byte* map(std::size_t bytes);
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void unmap() noexcept;

  FileDescriptor file_;
  std::size_t bytes_ = 0;  // of the file, as far as it is known here
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace headrace::inline v1::detail
