#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace headrace::test {

/// Bytes as a file that can be opened by name.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> bytes)
      : number_(::memfd_create("input", MFD_CLOEXEC)) {
    if (number_ < 0 ||
        ::write(number_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(number_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string name() const { return "/proc/self/fd/" + std::to_string(number_); }

 private:
  int number_;
};

}  // namespace headrace::test
