#pragma once

#include <headrace/apps/measure/doctor/read_speed.h>
#include <headrace/apps/measure/finding.h>
#include <headrace/monitor/system/cpu_usage.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

struct WholeConfiguration;

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

/// What a configuration asks of the machine; nothing: it is not known.
struct EnvironmentNeeds {
  bool gpu = false;                             ///< device: cuda
  bool cpu = false;                             ///< device: cpu, whatever GPU there is
  int loader_threads = 0;                       ///< threads.loader; 0: as many as there are cores
  int torch_threads = 0;                        ///< threads.torch, likewise
  std::optional<std::uint64_t> open_files{};    ///< by the loader, at most
  std::optional<std::uint64_t> locked_bytes{};  ///< page-locked
  std::optional<std::uint64_t> memory_limit{};  ///< of the process, bytes
  std::string memory_key = "memory.limit";      ///< that says so
  std::optional<double> process_share{};     ///< of the cores that a trial of its loader kept busy
  bool can_stage = false;                    ///< data.stage is a key of it, and not set
  bool can_cache = false;                    ///< likewise data.cache
  std::optional<std::uint64_t> run_bytes{};  ///< that a run writes
  std::optional<double> read_per_s{};        ///< bytes that the step could use up
};

/// What a configuration says that it asks of the machine, and by which keys.
EnvironmentNeeds configured_needs(const WholeConfiguration& configuration);

struct EnvironmentOptions {
  std::filesystem::path root = "/";  ///< below which proc and sys are read
  std::filesystem::path data{};      ///< file or folder; empty: not looked at
  std::filesystem::path runs{};      ///< folder of run folders; empty: not looked at
  std::string torch_version{};       ///< LibTorch's; empty: not known
  std::string torch_cuda{};  ///< CUDA that it was built for, "12.8"; empty: for the CPU alone
  EnvironmentNeeds needs{};
  std::optional<EnvironmentFacts> facts{};  ///< nothing: read_environment_facts()
};

/// Looks at driver and LibTorch, limits, memory, storage, processors: whatever could be wrong
/// beside the configuration, worst first. What cannot be found out is a finding that says so.
Findings check_environment(const EnvironmentOptions& options);

/// The findings for a person, their order kept: a row each, none wider than `columns` (at least
/// 60), below it what to do. What is as it should be is a row without a way out.
std::string environment_text(const Findings& findings, std::size_t columns);

/// The same as a JSON list, an object each: "severity", "known", "what", "found", "wanted",
/// "way_out".
std::string environment_json(const Findings& findings);

}  // namespace headrace::inline v1::app
