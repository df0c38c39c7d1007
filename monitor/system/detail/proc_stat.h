#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// /proc/PID/stat of a process, or of one of its threads.
struct ProcessStat {
  std::string name{};
  char state = '?';  ///< 'Z': it has ended and its parent did not ask yet
  int parent = 0;
  std::uint64_t ticks = 0;         ///< user and system time
  std::uint64_t child_ticks = 0;   ///< of ended children that it asked about, theirs included
  std::uint64_t major_faults = 0;  ///< with those of such children
  std::uint64_t threads = 0;
  std::uint64_t start = 0;  ///< ticks since boot: with the number it names a process for good
  std::uint64_t resident_pages = 0;

  bool ended() const { return state == 'Z' || state == 'X'; }
};

/// Nothing for text that is none. A name may hold blanks and brackets; what cannot be printed of it
/// comes as printable() gives it.
std::optional<ProcessStat> parse_process_stat(std::string_view text);
std::optional<ProcessStat> read_process_stat(const std::filesystem::path& file);

double seconds_per_tick();

/// What is called by a number in a folder such as proc, in rising order; empty where there is none.
std::vector<int> numbered_entries(const std::filesystem::path& folder);

/// How much a counter grew; 0 where it began anew.
inline std::uint64_t grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? now - before : 0;
}

/// The first line of /proc/stat: user nice system idle iowait irq softirq steal, of all CPUs; zeros
/// where there is none.
std::vector<std::uint64_t> read_machine_ticks(const std::filesystem::path& root);

struct MachineShares {
  double busy = 0.0;
  double iowait = 0.0;
  double steal = 0.0;
};

MachineShares machine_shares(const std::vector<std::uint64_t>& now,
                             const std::vector<std::uint64_t>& before);

}  // namespace headrace::inline v1::monitor::detail
