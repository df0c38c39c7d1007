#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace headrace::inline v1::monitor::detail {

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
