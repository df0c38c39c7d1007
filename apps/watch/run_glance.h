#pragma once

#include <headrace/apps/report/run_end.h>
#include <headrace/apps/run/run_process.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headrace::inline v1::app {

/// A line of log.txt about a step.
struct ProgressLine {
  std::string head{};  ///< "fold 0"; empty for an only member
  std::int64_t epoch = 0;
  std::int64_t epochs = 0;
  double share = 0.0;     ///< of the epoch
  std::string pace{};     ///< "589 samples/s"
  std::string left{};     ///< "epoch done in 326 ms"
  std::string figures{};  ///< "loss 0.6491 lr 0.001"
  std::string step{};     ///< "step 23 ms = data 0 + ..."
};

/// Nothing for a line that is about something else.
std::optional<ProgressLine> parse_progress(std::string_view line);

/// What a run's folder says of it.
struct RunGlance {
  std::string name{};  ///< the folder's
  std::string kind{};  ///< of its configuration
  RunEnd end = RunEnd::unknown;
  std::string last_word{};  ///< of a run that stopped or failed
  std::optional<RunProcess> process{};
  double running_s = -1.0;  ///< since it was started or went on; negative: not known
  /// The newest place that a line or a row tells.
  std::optional<ProgressLine> progress{};
  std::string step_budget{};  ///< "step 23 ms = data 0 + ..."
  /// Of the newest row of steps, with its place.
  std::vector<std::pair<std::string, std::string>> step_figures{};
  std::int64_t row_epoch = -1;  ///< from 0; negative: there is none
  std::int64_t row_step = -1;
  std::vector<std::pair<std::string, std::string>> epoch_figures{};  ///< of the newest epoch
  std::int64_t epochs_done = 0;                                      ///< of its member and stage
  std::int64_t steps_an_epoch = 0;                                   ///< likewise; 0: none is done
  std::int64_t best_epoch = 0;                                       ///< from 1; 0: none
  double epoch_s = -1.0;  ///< mean of the last three; negative: none is done
  std::string verdict{};
  std::string advice{};
  std::optional<monitor::SystemSample> machine{};  ///< the newest
  /// Of the newest sample that looked at processes.
  std::vector<monitor::ProcessUsage> busiest{};
  std::int64_t bad_samples = 0;
  std::int64_t bad_steps = 0;
  double silent_s = -1.0;  ///< since it last wrote a row or a line; negative: it has not
};

/// Reads the ends of its files and /proc, and touches nothing. Throws ConfigError where there is no
/// run.
RunGlance read_run_glance(const std::filesystem::path& run);

/// A run for a person, at most 20 lines, the most important first: of as many figures as fit into
/// `columns` the first.
std::vector<std::string> glance_lines(const RunGlance& glance, std::size_t columns);

/// The same in one line.
std::string glance_line(const RunGlance& glance);

/// "last row 3 s ago", "has not written for 2 min: ..."; how the run ended.
std::string state_text(const RunGlance& glance);

}  // namespace headrace::inline v1::app
