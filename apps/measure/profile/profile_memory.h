#pragma once

#include <headrace/apps/backend/command_options.h>
#include <headrace/apps/config/exit_codes.h>
#include <headrace/apps/measure/memory_switches.h>
#include <headrace/apps/memory/memory_plan.h>
#include <headrace/apps/run/command.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// `headrace profile-memory`: what each stage takes, by steps in processes of their own, on
/// standard output. The call has a backend.
ExitCode profile_memory(const ProfileMemoryOptions& options, const CommandCall& call);

/// A batch size that was tried with many steps.
struct TriedBatch {
  std::int64_t rows = 0;
  std::int64_t evaluation_rows = 0;
  std::int64_t steps = 0;
  SplitBytes total{};  ///< as measured
  bool fits = false;
  std::string ended{};  ///< why it was not measured; empty: it was
  double rows_per_second = 0.0;
};

/// What `headrace profile-memory` has found out of a stage.
struct StageProfile {
  PlannedStage stage{};
  std::vector<SwitchedStage> switches{};
  std::optional<std::int64_t> most_rows{};  ///< that fit, by the line through what was measured
  std::optional<TriedBatch> largest{};      ///< that fits, tried
  std::optional<TriedBatch> next{};         ///< the size above it
  std::optional<TriedBatch> fastest{};      ///< of all that were tried
  std::optional<SwitchSearch> search{};     ///< where not one row fits
};

/// All of it for standard output: breakdown, what a batch takes by its rows, what switches would
/// save, a verdict and the settings to copy.
std::string profile_text(const MemoryPlan& plan, const StageProfile& profile);

/// The same as JSON. Bytes, seconds.
std::string profile_json(const MemoryPlan& plan, const std::vector<StageProfile>& profiles);

}  // namespace headrace::inline v1::app
