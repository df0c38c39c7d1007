#pragma once

#include <headrace/benchmarks/harness/harness.h>
#include <headrace/benchmarks/harness/options.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::bench {

/// What a figure should reach. `share` goals look at the median itself, such as a share of time
/// or milliseconds; the others at its ratio to the reference.
struct Goal {
  double value = 0;
  bool at_most = false;
  bool share = false;

  bool held(double figure) const { return at_most ? figure <= value : figure >= value; }
};
/// "at least `ratio` of the reference".
constexpr Goal at_least(double ratio) {
  return {.value = ratio};
}
/// "a share of time of at most this".
constexpr Goal share_below(double share) {
  return {.value = share, .at_most = true, .share = true};
}

/// "at most so much, in the row's unit".
constexpr Goal median_below(double most) {
  return {.value = most, .at_most = true, .share = true};
}

/// One figure of a benchmark, or one that is missing.
struct Row {
  std::string section{};
  std::string contender{};
  std::string unit{};  ///< "GB/s", "images/s", "share"
  double median = 0;
  double low = 0;
  double high = 0;
  int repeats = 0;
  std::string reference{};        ///< contender of the same section; empty: none
  std::optional<double> ratio{};  ///< of the medians
  std::optional<Goal> goal{};
  std::string note{};
  std::string missing{};  ///< why there is no figure; empty: there is one
};

/// Median and spread of what a contender came to, once or several times.
Row figure(const std::string& section, const std::string& contender, const std::string& unit,
           const std::vector<double>& values);

/// What a program measured, printed as it comes and, where a file was asked for with --json, kept
/// there: the file is whole after every section, so that a program that is killed leaves what it
/// had.
class Report {
 public:
  /// Of options with add_json(). Prints the machine's line.
  Report(const std::string& benchmark, const Options& options);
  /// An empty file: prints only.
  Report(std::string benchmark, std::filesystem::path file);

  /// Prints the rows of one section as a table and writes the file.
  void add(std::vector<Row> section);
  /// The same for what compare() gave; ratios to the contender called `reference`. `goals` in the
  /// order of `rates`, shorter where the last have none.
  void add(const std::string& section, const std::string& unit, const std::vector<Rates>& rates,
           const std::string& reference, const std::vector<std::optional<Goal>>& goals = {});
  /// A contender without a figure, and why.
  void missing(const std::string& section, const std::string& contender, const std::string& why);

  /// From here on figures are of a run that only shows that it works: the file says so, and no goal
  /// is judged.
  void mark_dry() { dry_ = true; }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void write() const;

  std::string benchmark_;
  std::filesystem::path file_;
  bool dry_ = false;
  std::vector<Row> rows_;
};

/// "goal 0.80: held", "goal < 1.0 %: missed", or nothing.
std::string verdict(const Row& row);

}  // namespace headrace::inline v1::bench
