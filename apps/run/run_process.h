#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headrace::inline v1::app {

/// The process that a run folder was last opened by, as its env.json says.
struct RunProcess {
  std::int64_t pid = 0;
  std::int64_t started = 0;  ///< see process_started(); 0: not said
  std::string host{};
};

/// Nothing where env.json is missing, broken or silent about it.
std::optional<RunProcess> read_run_process(const std::filesystem::path& run);

/// Clock ticks from the boot to the start of a process, which tells it from another that has its
/// number later; 0: there is none, or it has ended and nobody has asked how.
std::int64_t process_started(std::int64_t pid);

/// Whether it still runs; nothing where it is of another machine.
std::optional<bool> is_running(const RunProcess& process);

/// The process that is at work in a run's folder, on this machine: the one that env.json names, as
/// long as it keeps the folder open (RunFolder's lock). Nothing where none is. Takes no lock.
std::optional<std::int64_t> process_of_run(const std::filesystem::path& run);

/// This machine's name.
std::string host_name();

}  // namespace headrace::inline v1::app
