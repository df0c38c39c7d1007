#pragma once

#include <headrace/apps/doctor/environment_facts.h>
#include <headrace/apps/doctor/finding.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

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
