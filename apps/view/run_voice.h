#pragma once

#include <headrace/apps/run/log_level.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/terminal/live_block.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

namespace headrace::inline v1::app {

/// Where a run's words go: lines to log.txt of its folder, and to the terminal above a live block;
/// and what programs read of them to events.jsonl. Thread-safe.
class RunVoice {
 public:
  /// `interval`: least time between two plain lines. Throws ResourceError.
  RunVoice(const std::filesystem::path& folder, LogLevel level,
           std::chrono::milliseconds interval = std::chrono::seconds(10));

  LogLevel level() const { return level_; }
  LiveBlock& block() { return *block_; }
  spdlog::logger& log() { return *log_; }
  /// To log.txt alone.
  spdlog::logger& file_log() { return *file_log_; }
  /// The one or, from that level on, the other.
  spdlog::logger& log_from(LogLevel level) { return level_ <= level ? *log_ : *file_log_; }

  /// A line of events.jsonl (docs/reports.md); one that cannot be written is left out.
  void event(const std::string& name, MetricRow facts);
  /// A warning, to all three.
  void warn(std::string_view text);
  /// What ends the run, but not to the terminal.
  void fail(std::string_view text);
  /// A step, in the live block or as a plain line. Of 32 steps one at most is a line, so that ten
  /// thousand are less than 100 KB however slow they are. Used by one thread.
  void show(const std::vector<std::string>& lines, const std::string& plain, std::int64_t step);
  /// A line that a person needs whatever the level.
  void tell(const std::string& line);
  /// Lines of a table: on the terminal they have no time before them, since they would not line up
  /// with what a terminal is wide.
  void rows(const std::string& text);

 private:
  LogLevel level_;
  std::int64_t next_line_ = 0;  // the step from which on there may be one
  std::shared_ptr<LiveBlock> block_;
  std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<spdlog::logger> file_log_;
  std::mutex events_guard_;
  JsonLinesWriter events_;
};

}  // namespace headrace::inline v1::app
