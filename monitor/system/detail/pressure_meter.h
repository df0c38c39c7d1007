#pragma once

#include <headrace/monitor/system/system_sample.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headrace::inline v1::monitor::detail {

/// A file of /proc/pressure: time in which some tasks, or all that could run, waited.
struct Stalls {
  std::optional<std::uint64_t> some_us{};
  std::optional<std::uint64_t> full_us{};
};

Stalls read_stalls(const std::filesystem::path& file);

/// Pressure over intervals. Not thread-safe.
class PressureMeter {
 public:
  explicit PressureMeter(std::filesystem::path root);

  /// Since the last call, or since construction, `interval_s` ago; nothing without PSI.
  std::optional<Pressure> sample(double interval_s);

 private:
  struct Reading {
    Stalls cpu;
    Stalls memory;
    Stalls io;
  };
  Reading read() const;

  std::filesystem::path root_;
  Reading last_;
};

}  // namespace headrace::inline v1::monitor::detail
