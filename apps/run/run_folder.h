#pragma once

#include <headrace/apps/run/log_level.h>
#include <headrace/apps/run/metrics_writer.h>
#include <headrace/apps/terminal/live_block.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <spdlog/logger.h>

namespace headrace::inline v1 {
class FolderLock;
}

namespace headrace::inline v1::app {

/// The folder of one run, kept for this object alone. Everything in it is flushed line by line, so
/// a killed run still has it. Not thread-safe, but for the logger.
class RunFolder {
 public:
  /// Makes `parent/name`; if it exists, `name-2`, `name-3` and so on: never one that is there.
  /// Throws ResourceError.
  static RunFolder create(const std::filesystem::path& parent, const std::string& name);

  /// An existing folder, for a run that is resumed: files are continued. Throws ConfigError if it
  /// is no run folder, or if another program is at work in it.
  static RunFolder open(const std::filesystem::path& folder);

  /// "glaucoma-20261121-092227", in UTC.
  static std::string dated_name(std::string_view job);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  std::filesystem::path tensorboard() const { return path_ / "tb"; }  ///< made when it is written

  /// The effective configuration: config.yaml.
  void write_config(std::string_view yaml) const;
  /// The command line, quoted for a shell, and the working folder: command.txt. A resumed run
  /// appends.
  void write_command(const std::vector<std::string>& arguments) const;
  /// Versions (given by the program), processor, cores, memory, cgroup, kernel: env.json.
  void write_environment(const std::map<std::string, std::string>& versions) const;

  CsvWriter& metrics_csv() { return *csv_; }            ///< metrics.csv, a row an epoch
  JsonLinesWriter& metrics_jsonl() { return *jsonl_; }  ///< metrics.jsonl, a row an interval
  JsonLinesWriter& advice() { return *advice_; }        ///< advice.jsonl
  JsonLinesWriter& bad_steps() { return *bad_steps_; }  ///< bad_steps.jsonl, not finite

 private:
  explicit RunFolder(std::filesystem::path path);

  std::filesystem::path path_;
  std::shared_ptr<FolderLock> lock_;
  std::unique_ptr<CsvWriter> csv_;
  std::unique_ptr<JsonLinesWriter> jsonl_;
  std::unique_ptr<JsonLinesWriter> advice_;
  std::unique_ptr<JsonLinesWriter> bad_steps_;
};

/// A logger of our own, not registered anywhere: to `folder`'s log.txt (flushed at every line;
/// `info` at least, whatever the level), and above the block when there is one. Thread-safe. Throws
/// ResourceError.
std::shared_ptr<spdlog::logger> make_run_logger(const std::filesystem::path& folder,
                                                std::shared_ptr<LiveBlock> block = nullptr,
                                                LogLevel level = LogLevel::info);

/// Writes a line to log.txt alone: what LiveBlockOptions::on_line is for.
void log_to_file_only(spdlog::logger& logger, const std::string& line);

/// Arguments as one line that a shell reads back.
std::string shell_quoted(const std::vector<std::string>& arguments);

}  // namespace headrace::inline v1::app
