#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// Seconds since 1970 of "2026-11-27T23:46:25Z" or "2026-11-27T23:46:25.843Z"; nothing for anything
/// else.
std::optional<double> parse_utc(std::string_view text);

/// "2026-11-27 23:46:25" in UTC; empty for what is no time.
std::string shown_utc(double seconds);

}  // namespace headrace::inline v1::app
