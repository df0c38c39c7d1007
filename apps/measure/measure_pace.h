#pragma once

#include <headrace/apps/backend/pace_trial.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/feed/loader_job.h>
#include <headrace/apps/run/command.h>

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>

namespace headrace::inline v1::app {

/// Runs a loader without a model behind a consumer that keeps each batch for the job's planted
/// delay; memory and storage only. Opens the source. Throws what the loader throws.
PaceResult pace_of_loader(const LoaderJob& job, const PaceOptions& options);

/// What a process is to measure of a configuration of any kind.
struct PaceQuestion {
  PaceInput input = PaceInput::memory;
  double seconds = 5.0;     ///< of the window
  std::int64_t steps = 20;  ///< that the window has at least, where three times the seconds suffice
  int cores = 0;            ///< that the process may use; 0: all
  std::uint64_t memory = 0;        ///< bytes that it may hold; 0: what the machine offers
  std::filesystem::path answer{};  ///< of the process that measures: where its result goes
  int parent = 0;                  ///< likewise: who waits for it
};

/// The command that a process for a trial is started with: its words, and behind them the file of
/// the configuration, `--trial FILE` and what else belongs to the question.
constexpr const char* pace_command = "doctor";

/// Measures by a process of its own, this program: what runs out of memory there, or crashes, is in
/// `failed`. A request to stop kills it, which is said. Throws ResourceError where no process or
/// file can be had.
PaceResult pace_apart(const std::string& yaml, const PaceQuestion& question,
                      const std::stop_token& stop = {});

/// In that process: measures, and writes the result. Throws what the configuration, the data and
/// training throw.
ExitCode pace_here(const std::filesystem::path& config, const PaceQuestion& question,
                   const CommandCall& call);

}  // namespace headrace::inline v1::app
