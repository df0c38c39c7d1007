#pragma once

#include <string>

namespace headrace::inline v1::detail {

/// A range on the time line of a profiler (NVTX): from construction to destruction, on this thread.
/// Nothing where the build has not got NVTX's header.
class TraceRange {
 public:
  explicit TraceRange(const std::string& name) noexcept;
  ~TraceRange();
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;
};

}  // namespace headrace::inline v1::detail
