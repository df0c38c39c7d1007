#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1::monitor::detail {

// Where and when an event is.
struct EventStamp {
  double wall_time = 0.0;  // seconds since 1970
  std::int64_t step = 0;
};

// Messages of TensorFlow's event.proto and summary.proto, as the SummaryWriters of PyTorch and
// TensorBoard encode them.

// The first event of a file.
HEADRACE_API std::string version_event(double wall_time);
// Says that a process begins at this step: what was written of it and of later ones is void.
HEADRACE_API std::string restart_event(const EventStamp& stamp);
// A scalar has 32 bits; a picture is a PNG file of 8-bit red, green and blue, else ConfigError.
HEADRACE_API std::string scalar_event(const EventStamp& stamp, std::string_view tag, double value);
HEADRACE_API std::string image_event(const EventStamp& stamp, std::string_view tag,
                                     std::span<const std::byte> png);

// A message framed as a TFRecord: length and bytes, each behind by its masked CRC-32C.
HEADRACE_API std::string record_of(std::string_view message);

}  // namespace headrace::inline v1::monitor::detail
