#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/config/fields.h>
#include <headrace/apps/feed/loader_settings.h>
#include <headrace/apps/jobs/goal_settings.h>
#include <headrace/engine/base/export.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headrace::inline v1::app {

enum class DeviceChoice : unsigned char { automatic, cpu, cuda };

/// What a run may hold in memory, and what is done about it before it begins.
struct MemorySettings {
  std::optional<Bytes> limit;  ///< of the process; none: what the machine offers
  std::optional<Bytes> gpu;    ///< of the GPU's memory; none: what it has free
  bool fit = false;     ///< a stage that would not fit gets smaller micro-batches, and more of them
  bool measure = true;  ///< what stages take is measured, else only counted
};

/// What every training job's configuration has beside its data and its training.
struct RunSettings {
  std::uint64_t seed = 42;
  DeviceChoice device = DeviceChoice::automatic;
  MemorySettings memory;
  Goals goals;
  std::filesystem::path runs = "runs";
  bool tensorboard = true;     ///< event files in the run folder
  std::int64_t log_every = 0;  ///< steps between rows of metrics.jsonl; 0: a time
  ThreadSettings threads;
  PlantedDelays delay;
  Node smoke;  ///< see smoke_document()
};

/// Its keys.
HEADRACE_API void describe(Fields& fields, RunSettings& settings);

}  // namespace headrace::inline v1::app
