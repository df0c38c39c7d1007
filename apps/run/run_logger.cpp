#include <headrace/apps/run/run_folder.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <mutex>

#include <fmt/format.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>

namespace headrace::inline v1::app {
namespace {

class BlockSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit BlockSink(std::shared_ptr<LiveBlock> block) : block_(std::move(block)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    block_->say({line.data(), line.size()});
  }
  void flush_() override {}

  std::shared_ptr<LiveBlock> block_;
};

std::unique_ptr<spdlog::formatter> utc_pattern(const char* pattern) {
  return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc);
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

std::shared_ptr<spdlog::logger> make_run_logger(const std::filesystem::path& folder,
                                                std::shared_ptr<LiveBlock> block, LogLevel level) {
  const spdlog::level::level_enum to_file = std::min(level_of(level), spdlog::level::info);
  std::vector<spdlog::sink_ptr> sinks;
  try {
    sinks.push_back(
        std::make_shared<spdlog::sinks::basic_file_sink_mt>((folder / "log.txt").string()));
  } catch (const spdlog::spdlog_ex& error) {
    throw ResourceError(fmt::format("[run folder] {}", error.what()));
  }
  sinks.back()->set_formatter(utc_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v"));
  sinks.back()->set_level(to_file);
  if (block) {
    sinks.push_back(std::make_shared<BlockSink>(std::move(block)));
    sinks.back()->set_formatter(utc_pattern("%Y-%m-%dT%H:%M:%SZ %l %v"));
    sinks.back()->set_level(level_of(level));
  }
  auto logger = std::make_shared<spdlog::logger>("headrace", sinks.begin(), sinks.end());
  logger->set_level(to_file);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

void log_to_file_only(spdlog::logger& logger, const std::string& line) {
  const spdlog::sink_ptr& file = logger.sinks().front();
  file->log(spdlog::details::log_msg(logger.name(), spdlog::level::info, line));
  file->flush();
}

}  // namespace headrace::inline v1::app
