#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace headrace::test {

/// KiB of a line of this process's status.
inline std::int64_t status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t value = 0;
    if (word == key + ":" && status >> value) return value;
  }
  return 0;
}

/// By how many bytes the memory of the process grew at most while it worked; -1 where the kernel
/// does not tell.
template <class Work>
std::int64_t peak_growth(const Work& work) {
  if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) return -1;
  const std::int64_t before = status_kib("VmRSS");
  work();
  return (status_kib("VmHWM") - before) << 10;
}

}  // namespace headrace::test
