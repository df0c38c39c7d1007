#pragma once

#include <headrace/apps/doctor/read_speed.h>
#include <headrace/monitor/cpu_usage.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Bytes of a file system; `free` is what an ordinary user can still take.
struct FolderSpace {
  std::uint64_t total = 0;
  std::uint64_t free = 0;
};

/// What processes other than this one do on the machine.
struct OtherLoad {
  double cores = 0.0;                            ///< that they keep busy
  unsigned machine_cores = 1;                    ///< CPUs that the machine has
  double steal_share = 0.0;                      ///< of the CPUs, taken by the hypervisor
  std::vector<monitor::ProcessUsage> busiest{};  ///< busiest first
};

/// What no file below a root says: asked of the system or measured. Absent or empty: not known.
struct EnvironmentFacts {
  std::string driver{};                        ///< version of NVIDIA's driver, by NVML
  std::string device_runtime{};                ///< CUDA runtime with which the device module opened
  std::string no_device{};                     ///< why it did not
  std::vector<unsigned> affinity{};            ///< CPUs that this process may use
  std::optional<FolderSpace> shared_memory{};  ///< of /dev/shm
  std::optional<FolderSpace> data_space{};
  std::optional<FolderSpace> run_space{};
  std::optional<ReadSpeed> read_speed{};  ///< of the data
  std::optional<double> fsync_s{};        ///< of the folder of runs
  std::optional<OtherLoad> others{};
};

/// Asks and measures on this machine, which takes about two seconds. `data` and `runs` may be empty
/// or not be there.
EnvironmentFacts read_environment_facts(const std::filesystem::path& data,
                                        const std::filesystem::path& runs);

}  // namespace headrace::inline v1::app
