#pragma once

#include <headrace/apps/report/run_record.h>
#include <headrace/apps/report/step_history.h>
#include <headrace/apps/report/welch.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// A run and what is compared of it.
struct ComparedRun {
  RunRecord record{};
  StepHistory steps{};
  std::map<std::string, double> machine_means{};  ///< of curves of system.jsonl, by name
};

/// A key that is not the same in all runs.
struct KeyDifference {
  std::string key{};
  std::vector<std::string> values{};  ///< of each run; empty: it has no such key
};

/// What a figure counts, which says how it is written and what a difference is called.
enum class FigureKind : unsigned char { rate, seconds, bytes, share, learnt };

/// How a run's figure stands to the first run's.
enum class DifferenceKind : unsigned char {
  missing,        ///< one of them has none
  same,           ///< they agree to the last bit
  differs,        ///< beyond noise
  within_noise,   ///< the interval holds 0
  noise_unknown,  ///< one of them has a single value
  negligible,     ///< a part of a step that is under 1 % of it in both
};

struct FigureDifference {
  DifferenceKind finding = DifferenceKind::missing;
  /// Of the first run's mean; of shares in points of per cent; of what is learnt as it is.
  double change = 0.0;
  double half_width = 0.0;  ///< of its 95 % interval; 0 where no noise is known
  std::string words{};      ///< "faster by 12.1 ± 3.0 %"
  std::string amount{};     ///< what the words leave out: "-1.5 ± 6.4 %"; may be empty
};

struct ComparedFigure {
  std::string name{};
  FigureKind kind = FigureKind::learnt;
  std::string over{};  ///< what the spread is over: "epochs", "members"
  std::vector<Spread> runs{};
  std::vector<FigureDifference> differences{};  ///< of the second run and those behind it
};

/// Runs side by side. The first is what the others are compared with.
struct Comparison {
  std::vector<ComparedRun> runs{};
  std::vector<std::string> sentences{};  ///< what a reader should know before the figures
  std::vector<KeyDifference> configuration{};
  std::vector<KeyDifference> environment{};
  std::vector<ComparedFigure> figures{};
};

/// Reads at least two runs, of any kinds. Throws ConfigError for a folder that holds no run and for
/// fewer than two.
Comparison compare_runs(const std::vector<std::filesystem::path>& folders);

/// Where the noise comes from, for whoever reads the differences.
std::string noise_sentence();

/// "A", "B", ..., "Z", "27", ...
std::string letter_of(std::size_t run);

/// A value of a figure for a person.
std::string figure_value(FigureKind kind, double value);

// The parts of compare_runs(), each in the file of its name.
std::vector<KeyDifference> differing_keys(const std::vector<ComparedRun>& runs);
std::vector<KeyDifference> differing_environment(const std::vector<ComparedRun>& runs);
std::vector<ComparedFigure> compare_figures(const std::vector<ComparedRun>& runs);

/// For a terminal of so many columns: sentences and tables, with a line end each. Runs that have no
/// room side by side are told one after the other, each beside the first.
std::string to_text(const Comparison& comparison, std::size_t columns);
/// All of it as a JSON object, with a line end.
std::string to_json(const Comparison& comparison);
/// One page of HTML that looks nothing up elsewhere, with the runs' curves over each other.
std::string to_page(const Comparison& comparison);

/// How a figure of a run stands to that of the first run, in words.
FigureDifference difference_of(FigureKind kind, const Spread& first, const Spread& other);

}  // namespace headrace::inline v1::app
