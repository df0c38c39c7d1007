#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/monitor/system/system_sample.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace::inline v1::monitor {

/// Where a training run stood when a sample was taken.
struct RunMoment {
  std::string phase{};  ///< "train", "evaluate", "checkpoint", "other"; empty: no run
  std::optional<std::int64_t> epoch{};  ///< from 1
};

/// A sample as one JSON object without a line break, for system.jsonl (docs/monitoring.md): what is
/// not known has no key, and devices that did nothing are left out.
HEADRACE_API std::string system_line(const SystemSample& sample, const RunMoment& moment = {});

/// Such a line; nothing for text that is none. Of the process's memory what is held comes back as
/// anonymous.
HEADRACE_API std::optional<SystemSample> read_system_line(std::string_view line);

}  // namespace headrace::inline v1::monitor
