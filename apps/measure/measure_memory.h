#pragma once

#include <headrace/apps/job/read_job.h>
#include <headrace/apps/memory/measured_memory.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// Measures by a process of its own, this program with the command profile-memory: what runs out of
/// memory there, or crashes, leaves this one as it is, and is in `failed`. Of `member`, else of the
/// job's first. Reads no samples. Throws ResourceError where no process or file can be had.
MeasuredMemory measure_apart(const TrainingJob& job, const MeasureOptions& options,
                             const std::optional<std::int64_t>& member);

/// What was measured of the same job by the same program, and is kept in a file; nothing where
/// there is none, of another, or of another `key`, see TrainingRun::memory_key().
std::optional<MeasuredMemory> read_measured_memory(const std::filesystem::path& file,
                                                   const TrainingJob& job, const std::string& key);

/// Keeps it there. Throws ResourceError.
void write_measured_memory(const std::filesystem::path& file, MeasuredMemory measured,
                           const TrainingJob& job, const std::string& key);

}  // namespace headrace::inline v1::app
