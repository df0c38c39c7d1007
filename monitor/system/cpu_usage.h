#pragma once

#include <headrace/engine/base/export.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// CPU time of the threads that carry one name.
struct ThreadUsage {
  std::string name{};
  unsigned threads = 0;
  double cores = 0.0;  ///< CPU time / elapsed time, summed
};

/// CPU use over the interval since the sample before.
struct CpuUsage {
  double interval_s = 0.0;
  double process_cores = 0.0;  ///< CPU time of this process / elapsed time
  double process_share = 0.0;  ///< the same, of the cores it may use (0 to 1)
  /// Busy share of all the machine's CPUs; waiting for storage is not busy.
  double machine_share = 0.0;
  double iowait_share = 0.0;  ///< CPUs idle while storage was awaited
  double steal_share = 0.0;   ///< taken by the hypervisor
  /// Time in which some task waited for storage; nothing without PSI.
  std::optional<double> io_pressure_share;
  /// Of this process, busiest first; ended threads are not in it.
  std::vector<ThreadUsage> threads;
};

/// Differences between readings of /proc below `root`. Not thread-safe; a sample costs some 10 us
/// and 10 us a thread.
class HEADRACE_API CpuSampler {
 public:
  explicit CpuSampler(std::filesystem::path root = "/");

  /// Use since the last call, or since construction.
  CpuUsage sample();

 private:
  struct Thread {
    std::string name;
    std::uint64_t ticks = 0;
  };
  struct Reading {
    std::chrono::steady_clock::time_point at;
    std::uint64_t process_ticks = 0;
    std::vector<std::uint64_t> machine;  // user nice system idle iowait irq softirq steal
    std::optional<std::uint64_t> io_pressure_us;
    std::map<std::string, Thread> threads;  // by id
  };

  Reading read() const;
  static void add_threads(CpuUsage& usage, const Reading& now, const Reading& before,
                          double tick_s);

  std::filesystem::path root_;
  unsigned cores_ = 1;
  double tick_s_ = 0.01;
  Reading last_;
};

/// A process and its share of the machine.
struct ProcessUsage {
  int pid = 0;
  std::string name{};
  double cores = 0.0;
  bool ours = false;  ///< of the tree that is watched
};

/// CPU ticks of every process, to be compared by `busiest_processes`.
using ProcessTicks = std::map<int, std::pair<std::string, std::uint64_t>>;
HEADRACE_API ProcessTicks read_process_ticks(const std::filesystem::path& root = "/");

/// The `count` processes that used most CPU between two readings `interval_s` apart; one that is
/// not in the earlier reading began after it. Marked as ours is this process alone.
HEADRACE_API std::vector<ProcessUsage> busiest_processes(const ProcessTicks& before,
                                                         const ProcessTicks& after,
                                                         double interval_s, std::size_t count = 5);

}  // namespace headrace::inline v1::monitor
