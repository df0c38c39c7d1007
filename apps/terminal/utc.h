#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

// Times of ours are in UTC. Thread-safe.

/// The time now, to the second: "2026-11-27T23:46:25Z".
std::string utc_time();

/// Seconds since 1970 of "2026-11-27T23:46:25Z" or "2026-11-27T23:46:25.843Z"; nothing for anything
/// else.
std::optional<double> parse_utc(std::string_view text);

/// "2026-11-27 23:46:25" of seconds since 1970; empty for what is no time.
std::string shown_utc(double seconds);

/// The same without its date: "23:46:25".
std::string clock_utc(double seconds);

}  // namespace headrace::inline v1::app
