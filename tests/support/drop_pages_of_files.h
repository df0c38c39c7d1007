#pragma once

#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include <sys/mman.h>

namespace headrace::test {

/// As the kernel does where memory is wanted elsewhere: pages of libraries go, and come back when
/// they are next used. Gives how many bytes went.
inline std::uint64_t drop_pages_of_files() {
  const std::uint64_t before = monitor::read_process_memory().file_backed;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" r-xp ") == std::string::npos || line.find('/') == std::string::npos) continue;
    std::istringstream range(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    range >> std::hex >> begin >> dash >> end;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  const std::uint64_t after = monitor::read_process_memory().file_backed;
  return before - std::min(before, after);
}

}  // namespace headrace::test
