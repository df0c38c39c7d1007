#pragma once

#include <headrace/apps/run/log_level.h>
#include <headrace/apps/terminal/live_block.h>

#include <filesystem>
#include <memory>
#include <string>

#include <spdlog/logger.h>

namespace headrace::inline v1::app {

/// Where a run's words go: lines to log.txt of its folder, and to the terminal above a live block.
/// Thread-safe.
class RunVoice {
 public:
  /// Throws ResourceError.
  RunVoice(const std::filesystem::path& folder, LogLevel level);

  LogLevel level() const { return level_; }
  LiveBlock& block() { return *block_; }
  spdlog::logger& log() { return *log_; }
  /// To log.txt alone.
  spdlog::logger& file_log() { return *file_log_; }
  /// The one or, from that level on, the other.
  spdlog::logger& log_from(LogLevel level) { return level_ <= level ? *log_ : *file_log_; }

  /// A line that a person needs whatever the level.
  void tell(const std::string& line);
  /// Lines of a table: on the terminal they have no time before them, since they would not line up
  /// with what a terminal is wide.
  void rows(const std::string& text);

 private:
  LogLevel level_;
  std::shared_ptr<LiveBlock> block_;
  std::shared_ptr<spdlog::logger> log_;
  std::shared_ptr<spdlog::logger> file_log_;
};

}  // namespace headrace::inline v1::app
