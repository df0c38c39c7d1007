#pragma once

#include <headrace/monitor/system/system_sampler.h>

#include "fake_root.h"

#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <unistd.h>

namespace headrace::test {

inline double tick_s() {
  return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// A process as proc shows it.
struct Fake {
  int pid = 0;
  int parent = 1;
  int ticks = 0;
  int child_ticks = 0;
  int pages = 10;
  int major_faults = 0;
  int start = 5;
  char state = 'S';
};

inline void run(const FakeRoot& root, const Fake& process) {
  root.write(
      fmt::format("proc/{}/stat", process.pid),
      fmt::format("{} (worker ({})) {} {} 1 1 0 -1 0 0 0 {} 0 {} 0 {} 0 20 0 2 0 {} 0 {}\n",
                  process.pid, process.pid, process.state, process.parent, process.major_faults,
                  process.ticks, process.child_ticks, process.start, process.pages));
}

inline void read_so_far(const FakeRoot& root, int pid, int bytes, int from_disk) {
  root.write(fmt::format("proc/{}/io", pid),
             fmt::format("rchar: {}\nwchar: 1\nread_bytes: {}\n", bytes, from_disk));
}

inline void end(const FakeRoot& root, int pid) {
  std::filesystem::remove_all(root.path() / "proc" / std::to_string(pid));
}

inline monitor::SystemSamplerOptions watching(const FakeRoot& root, int pid) {
  return {.pid = pid, .root = root.path(), .nvml_library = ""};
}

}  // namespace headrace::test
