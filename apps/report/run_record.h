#pragma once

#include <headrace/apps/config/document.h>
#include <headrace/apps/figures/epoch_log.h>
#include <headrace/apps/report/run_events.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A name and what is said of it.
using Fact = std::pair<std::string, std::string>;

/// What a member came to (result.json).
struct MemberResult {
  std::string member{};
  std::string selected_by{};
  std::int64_t best_epoch = -1;  ///< from 0; below 0: not said
  std::map<std::string, double> validation{};
  std::map<std::string, double> test{};
  std::string refused{};  ///< why its figures, which are left out, cannot be believed; may be empty
};

/// A goal of result.json.
struct GoalResult {
  std::string sentence{};        ///< "goal data_wait: at most 5 %, came 1.2 %"
  std::optional<bool> passed{};  ///< nothing: was not judged
};

/// What the folder of a run says of it as a whole, read as it lies there: a run may be at work in
/// it, may have been killed, or be of a version that wrote fewer files.
struct RunRecord {
  std::filesystem::path folder{};
  std::string name{};  ///< of the folder
  std::string kind{};  ///< of its job; may be empty
  Node config{};       ///< null without one
  std::string config_text{};
  std::vector<std::string> commands{};  ///< one for each time that it was started
  /// env.json, flat: "versions.LibTorch" is "2.11.0".
  std::vector<Fact> environment{};
  RunEvents events{};
  EpochLog epochs{};
  std::vector<MemberResult> results{};
  std::vector<GoalResult> goals{};
  RunEnd end = RunEnd::unknown;
  std::string end_words{};             ///< what the run says of it
  std::optional<double> ended{};       ///< when it said or sampled the last, seconds since 1970
  std::vector<std::string> remarks{};  ///< what could not be read

  /// Seconds since 1970.
  std::optional<double> began() const;
  /// A value of env.json; empty without one.
  std::string environment_of(const std::string& key) const;
};

/// Reads all but the files that may have any size (metrics.jsonl, system.jsonl but its end). A
/// file that is missing or broken is no error, but a remark. Throws ConfigError for a folder that
/// holds no run.
RunRecord read_run(const std::filesystem::path& folder);

}  // namespace headrace::inline v1::app
