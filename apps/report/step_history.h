#pragma once

#include <headrace/apps/plot/thin_curve.h>
#include <headrace/apps/report/text_lines.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace headrace::inline v1::app {

/// Memory of a phase that is of no epoch.
struct PhaseRow {
  std::int64_t member = 0;
  std::string stage{};
  std::string phase{};        ///< "end of stage", "test"
  double tensors_peak = 0.0;  ///< bytes; not a number where it is not said
  double reserved_peak = 0.0;
  double process = 0.0;
};

/// Where an epoch stands: member, stage, number.
using EpochKey = std::tuple<std::int64_t, std::string, std::int64_t>;

/// metrics.jsonl: what is known between the ends of epochs.
struct StepHistory {
  static constexpr std::size_t most_members = 8;  ///< whose curves are kept

  LineCount count{};
  /// Over a member's steps, all stages end to end: "loss", "gradient_norm", "learning_rate",
  /// "samples_per_s".
  std::map<std::string, std::map<std::int64_t, ThinCurve>> curves{};
  /// Samples a second of an epoch's steps.
  std::map<EpochKey, double> rates{};
  std::vector<PhaseRow> phases{};  ///< at most 1000
};

/// Reads metrics.jsonl line by line; its size does not matter.
StepHistory read_steps(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
