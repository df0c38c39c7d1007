#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::app {

/// A byte size in a configuration: "10GiB", "512MiB", "1GB" (10^9), "1.5GiB", "4096".
struct Bytes {
  std::uint64_t value = 0;
  friend bool operator==(const Bytes&, const Bytes&) = default;
  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

/// A duration in a configuration: "20ms", "10min", "1.5h", "30s". Seconds inside; a bare number is
/// refused.
struct Duration {
  double seconds = 0.0;
  friend bool operator==(const Duration&, const Duration&) = default;
  friend auto operator<=>(const Duration&, const Duration&) = default;
};

/// Nothing for text that is no size, is negative, or exceeds 2^63 bytes. Blanks before the unit are
/// allowed.
HEADRACE_API std::optional<Bytes> parse_bytes(std::string_view text);

/// Nothing for text that is no duration, lacks its unit, is negative or more than a century. Units:
/// ns us ms s min h d.
HEADRACE_API std::optional<Duration> parse_duration(std::string_view text);

/// Exact, in the largest unit that divides it: "10GiB", "1000B". parse_bytes gives the same value
/// back.
HEADRACE_API std::string format_exact(Bytes bytes);

/// Exact, in a unit that keeps the number short: "20ms", "10min". parse_duration gives the same
/// value back.
HEADRACE_API std::string format_exact(Duration duration);

}  // namespace headrace::inline v1::app
