#pragma once

#include <headrace/apps/report/text_lines.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1::app {

/// A line of log.txt, taken apart: "2026-11-28T00:00:35.550Z info text". A text of several lines
/// has time and level in its first alone.
struct LogEntry {
  std::optional<double> at{};  ///< seconds since 1970
  std::string_view level{};
  std::string_view text{};
};

/// Its parts are views of `line`.
LogEntry log_entry(std::string_view line);

/// A line of log.txt, and how often it came in a row.
struct LogLine {
  double first = 0.0;  ///< seconds since 1970
  double last = 0.0;
  std::uint64_t times = 1;
  std::string text{};
};

/// How the log of a run ends.
enum class LogEnd : unsigned char {
  open,     ///< nothing says so: it runs, or was killed
  stopped,  ///< by a signal, saved
  failed,   ///< with an error
  done,     ///< all was trained and tested
};

/// Follows the lines of a log to its end, from any line on. Not thread-safe.
class LogEnding {
 public:
  void take(const LogEntry& entry);

  LogEnd end() const { return end_; }                  ///< of the process that came last
  const std::string& words() const { return words_; }  ///< why it ended

 private:
  void end_with(LogEnd end, std::string_view words);

  LogEnd end_ = LogEnd::open;
  std::string words_;
};

/// What log.txt tells.
struct LogFacts {
  LineCount count{};
  std::optional<double> first{};  ///< seconds since 1970
  std::optional<double> last{};
  std::vector<LogLine> verdicts{};  ///< neighbours that say the same are one; at most 200
  std::vector<LogLine> warnings{};  ///< each text once, advice left out; at most 200
  std::vector<LogLine> advice{};    ///< "... · check: ...", each by itself; at most 200
  std::uint64_t more_verdicts = 0;  ///< that had no room
  std::uint64_t more_warnings = 0;
  std::vector<std::string> goals{};  ///< "goal ram: at most ...: pass"
  std::string device{};              ///< "cpu (auto: ...)"
  std::string memory_plan{};         ///< "memory 453 MiB of 10.0 GiB (configuration): ..."
  LogEnding ending{};
  std::size_t starts = 0;  ///< processes that have opened the folder
};

/// Reads log.txt line by line; its size does not matter.
LogFacts read_log(const std::filesystem::path& file);

}  // namespace headrace::inline v1::app
