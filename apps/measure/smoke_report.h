#pragma once

#include <headrace/apps/backend/smoke_trial.h>
#include <headrace/monitor/memory/process_memory.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// The memory of a trial beside what was reckoned. Bytes.
struct TriedMemory {
  std::uint64_t peak = 0;      ///< that the process held
  std::uint64_t forecast = 0;  ///< of the run that was tried
  monitor::MemoryLimit limit{};
};

/// What the whole run would take, by what the trial has measured, in seconds.
double full_seconds(const SmokeTrial& trial);

/// A table of what was tried and how long it takes in the full run, for standard output, with
/// the sum and the memory; `shrunk` are the keys of the section `smoke` where it has some. Ends
/// with a line end.
std::string smoke_text(const SmokeTrial& trial, const TriedMemory& memory,
                       const std::string& shrunk);

}  // namespace headrace::inline v1::app
