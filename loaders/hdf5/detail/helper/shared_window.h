#pragma once

#include <headrace/loaders/file/file_descriptor.h>

#include <cstddef>
#include <utility>

namespace headrace::inline v1::detail {

/// Memory that two processes see. It grows and never shrinks, so that neither can take it from the
/// other.
class SharedWindow {
 public:
  SharedWindow();
  /// Made by another process.
  explicit SharedWindow(FileDescriptor file) noexcept : file_(std::move(file)) {}
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  int descriptor() const noexcept { return file_.number(); }
  /// Makes it at least that large, for who made it. Throws ResourceError, also where the system has
  /// no such memory at all.
  void grow(std::size_t bytes);
  /// The first `bytes` of it, mapped here; places may change from call to call. Throws
  /// ResourceError, also where it is smaller.
  std::byte* map(std::size_t bytes);
  std::size_t bytes() const noexcept { return bytes_; }
  /// Gives its memory back, until it is used again; nobody must use it now.
  void release() noexcept;

 private:
  void unmap() noexcept;

  FileDescriptor file_;
  std::size_t bytes_ = 0;  // that it has pages for, as far as is known here
  std::byte* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
};

}  // namespace headrace::inline v1::detail
