#pragma once

#include <functional>
#include <string_view>

namespace headrace::inline v1 {

/// Lines from the library: what was chosen, what was slower than it could be. Called from any
/// thread.
enum class LogLevel : unsigned char { debug, info, warning };
using LogCallback = std::function<void(LogLevel, std::string_view)>;

}  // namespace headrace::inline v1
