#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::monitor {

/// Bytes for a person: "1.50 GiB", "640 MiB", "12.0 KiB", "17 B". Binary units, three figures.
HEADRACE_API std::string format_bytes(std::uint64_t bytes);

/// Seconds for a person: "98.0 ms", "340 us", "2.50 s", "4 min 10 s", "2 h 14 min". Three figures
/// below a minute.
HEADRACE_API std::string format_seconds(double seconds);

/// A count per second for a person: "812", "12.3 k", "2.05 M", without the unit.
HEADRACE_API std::string format_rate(double per_second);

/// A share as per cent: 0.031 is "3.1 %", 0.42 is "42 %".
HEADRACE_API std::string format_share(double share);

}  // namespace headrace::inline v1::monitor
