#pragma once

#include <headrace/apps/measure/doctor/environment.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// Driver, LibTorch, whether they suit each other, and the engine's device module.
void check_gpu(const EnvironmentOptions& options, const EnvironmentFacts& facts,
               Findings& findings);

/// Open files and locked memory.
void check_file_limits(const EnvironmentOptions& options, Findings& findings);

/// Transparent ones, and those that are set aside.
void check_huge_pages(const EnvironmentOptions& options, Findings& findings);

/// Quota and affinity against the threads that are configured.
void check_cpu_share(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                     Findings& findings);

/// Governor, virtual machine and what it loses, load by others.
void check_cpu_state(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                     Findings& findings);

/// Nodes that the affinity spans, and the GPU's.
void check_numa(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                Findings& findings);

/// The cgroup's limit, swap, /dev/shm.
void check_memory(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                  Findings& findings);

/// File system and speed of the data.
void check_data_storage(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                        Findings& findings);

/// File system, space and fsync of the folder of runs.
void check_run_storage(const EnvironmentOptions& options, const EnvironmentFacts& facts,
                       Findings& findings);

/// The numbers of a list such as "0-3,8"; nothing where it is none.
std::optional<std::vector<unsigned>> numbers_of(std::string_view list);

}  // namespace headrace::inline v1::app
