#include <headrace/apps/run/log_level.h>
#include <headrace/engine/base/error.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

LogLevel level_of(const std::string& word, const char* whose) {
  const std::vector<std::string>& words = log_level_words();
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) {
    throw ConfigError(fmt::format("[log level] {} must be one of {}, got \"{}\"", whose,
                                  fmt::join(words, ", "), word));
  }
  return static_cast<LogLevel>(found - words.begin());
}

}  // namespace

const std::vector<std::string>& log_level_words() {
  static const std::vector<std::string> words{"trace", "debug", "info", "warn", "error"};
  return words;
}

LogLevel log_level(const std::string& option) {
  if (!option.empty()) return level_of(option, "--log-level");
  const char* variable = std::getenv("HEADRACE_LOG_LEVEL");
  if (variable == nullptr || *variable == '\0') return LogLevel::info;
  return level_of(variable, "HEADRACE_LOG_LEVEL");
}

}  // namespace headrace::inline v1::app
