#pragma once

#include <filesystem>
#include <string>

namespace headrace::inline v1::app {

/// What is watched: a process with its descendants, or the machine alone.
struct WatchTarget {
  int pid = 0;          ///< SystemSamplerOptions::nobody: none
  std::string words{};  ///< "python 4711", "the machine"

  bool has_process() const { return pid > 0; }
};

/// Of a run's folder the process that trains in it, else the process of that number, else (0) the
/// machine. Throws ConfigError where both are named, where there is no such process, and where
/// nothing is at work in the folder.
WatchTarget watch_target(const std::filesystem::path& run, int pid);

}  // namespace headrace::inline v1::app
