#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor {

/// What the process holds in memory, in bytes.
struct ProcessMemory {
  std::uint64_t anonymous = 0;  ///< heap, stacks, private pages
  std::uint64_t shared = 0;     ///< shared memory
  /// Locked against paging; pages counted here are among the ones above as well.
  std::uint64_t page_locked = 0;
  /// Pages of files: the kernel may drop them, they count for no limit of ours.
  std::uint64_t file_backed = 0;
  /// Address space of heap and stacks, touched or not: what an RLIMIT_DATA limits.
  std::uint64_t data_segment = 0;
  std::uint64_t peak_resident = 0;  ///< largest sum of all resident pages so far, files included
  /// Page-locked memory that a device driver took and the kernel books to nobody; given by the
  /// caller.
  std::uint64_t driver_locked = 0;

  /// What a memory limit is compared with: anonymous + shared + driver_locked.
  std::uint64_t held() const { return anonymous + shared + driver_locked; }
};

/// Reads /proc/self/status below `root` (some microseconds). All zero where there is none.
HEADRACE_API ProcessMemory read_process_memory(const std::filesystem::path& root = "/");

/// Makes `peak_resident` begin anew from what is resident now; false where the system does not let.
HEADRACE_API bool reset_peak_resident(const std::filesystem::path& root = "/");

/// The machine's memory as this process may use it, in bytes.
struct HEADRACE_API HostMemory {
  std::uint64_t total = 0;
  std::uint64_t available = 0;  ///< MemAvailable of the machine
  /// The tightest, from the process's cgroup upwards, v1 and v2.
  std::optional<std::uint64_t> cgroup_limit{};
  std::uint64_t cgroup_usage = 0;  ///< of that cgroup, without the page cache it could drop
  /// Likewise, without what the kernel can make free: pages of files, names of files.
  std::uint64_t cgroup_held = 0;
  std::string cgroup_file{};  ///< the file that sets the limit

  /// What could still be taken: the lesser of `available` and what the cgroup leaves.
  std::uint64_t room() const;
};

HEADRACE_API HostMemory read_host_memory(const std::filesystem::path& root = "/");

/// A limit and who set it.
struct MemoryLimit {
  std::uint64_t bytes = 0;
  std::string source{};  ///< "configuration", "cgroup /sys/...", "RLIMIT_DATA", "machine"
};

/// The tightest of the configured limit, the cgroup's, RLIMIT_DATA and the machine's memory.
HEADRACE_API MemoryLimit tightest_memory_limit(std::optional<std::uint64_t> configured,
                                               const std::filesystem::path& root = "/");

/// What is held of a limit, as the one who set it counts.
struct HEADRACE_API MemoryUse {
  std::uint64_t bytes = 0;
  MemoryLimit limit{};
  /// Above 1 the limit is passed. Of a limit that the kernel holds, 2 % are kept clear: what goes
  /// over it does not come back.
  double share() const;
};

/// Of a limit of tightest_memory_limit(): of RLIMIT_DATA the data segment, of a cgroup all that is
/// in it and that the kernel cannot make free, else what the process holds.
HEADRACE_API MemoryUse memory_use(const MemoryLimit& limit, const ProcessMemory& memory,
                                  const std::filesystem::path& root = "/");

/// The limits that the kernel holds the process to: its cgroup's and RLIMIT_DATA.
HEADRACE_API std::vector<MemoryLimit> kernel_memory_limits(const std::filesystem::path& root = "/");

/// RLIMIT_DATA; nothing where it is not set.
HEADRACE_API std::optional<std::uint64_t> data_limit();

/// Address space of a thread's stack as a new one gets it.
HEADRACE_API std::uint64_t stack_bytes();

/// That of the stacks of all threads but the first, which `data_segment` has in it.
HEADRACE_API std::uint64_t stack_bytes_of_threads(const std::filesystem::path& root = "/");

/// CPU time the cgroup grants, in cores ("150000 100000" is 1.5); nothing without a quota.
HEADRACE_API std::optional<double> cpu_quota(const std::filesystem::path& root = "/");

/// Cores this process can keep busy: min(affinity, quota rounded up), at least 1.
HEADRACE_API unsigned usable_cores(const std::filesystem::path& root = "/");

/// The same for a known affinity.
HEADRACE_API unsigned usable_cores(unsigned affinity, std::optional<double> quota);

}  // namespace headrace::inline v1::monitor
