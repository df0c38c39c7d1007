#pragma once

#include <string>
#include <vector>

namespace headrace::inline v1::app {

/// What a run says on the terminal, from all of it to nothing but what ends it. log.txt holds what
/// is at least `info`, and what the terminal shows.
enum class LogLevel : unsigned char { trace, debug, info, warn, error };

/// Their words in this order.
const std::vector<std::string>& log_level_words();

/// The level that an option asks for; without one (empty) that of HEADRACE_LOG_LEVEL; without
/// either `info`. Throws ConfigError for any other word.
LogLevel log_level(const std::string& option);

}  // namespace headrace::inline v1::app
