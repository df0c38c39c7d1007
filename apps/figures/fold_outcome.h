#pragma once

#include <headrace/apps/figures/reports.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a member of a run (a fold, a pair of classes) came to.
struct FoldOutcome {
  bool interrupted = false;
  /// "fold 0", or of a vote "all together, soft"; empty where a run has only one.
  std::string member{};
  std::string selected_by{};                   ///< a figure of `validation`
  std::int64_t best_epoch = 0;                 ///< from 0
  std::map<std::string, double> validation{};  ///< by name, of the weights that were selected
  std::map<std::string, double> test{};        ///< likewise, of the test data
  Confusion confusion{};                       ///< of the test
  /// Why its weights and figures cannot be believed: it counts in no mean and in no vote.
  std::optional<std::string> refused{};
  std::optional<std::string> unread{};  ///< how many of the test's records no figure knows
  std::optional<std::string> unread_validation{};  ///< likewise of the validation's
};

/// Those that are not refused.
std::vector<FoldOutcome> believed(const std::vector<FoldOutcome>& outcomes);

/// What a member that is done came to (result.json of its folder); nothing for one that is not.
/// Throws Failure with the exit code for checkpoints when the file cannot be understood.
std::optional<FoldOutcome> read_fold_outcome(const std::filesystem::path& folder);

/// The outcomes of a run for a person, at most 100 columns wide: for each its test figure of the
/// name that selected and what else was measured, or why it is refused, and one line for all
/// others; then what they say together, where they voted: a line, of several ways to decide a
/// table. No line end at the end.
std::string results_text(const std::vector<FoldOutcome>& outcomes,
                         const std::vector<FoldOutcome>& votes = {});

/// Marks the member as done: its result.json.
void write_fold_outcome(const std::filesystem::path& folder, const FoldOutcome& outcome);

/// The same for the whole run: "members", a list of what each came to, of several "over_members",
/// mean and standard deviation of each figure (`figure_spread.h`), and where they voted "vote",
/// what the first of `votes` came to; of several ways to decide also "votes", a list of all.
void write_run_result(const std::filesystem::path& folder, const std::vector<FoldOutcome>& outcomes,
                      const std::vector<FoldOutcome>& votes);

}  // namespace headrace::inline v1::app
