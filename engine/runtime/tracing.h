#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/stats/trace.h>

#include <cstddef>
#include <vector>

namespace headrace::inline v1 {

/// Records what all loaders of a runtime do, from construction until stop(): spans of stages on
/// each thread, batches, queues, copies to a device. Each thread writes into a ring of its own that
/// a loader takes when it is first traced (its forecast says so, the runtime's budget holds it) and
/// keeps to its end. One at a time for a runtime; without one nothing is recorded. What is
/// delivered is the same. Any thread may call it, one at a time.
class HEADRACE_API Tracing {
 public:
  /// Throws ConfigError while the runtime is traced or for options that make no sense,
  /// ResourceError when its budget has no room, PipelineError in a forked process.
  explicit Tracing(Runtime runtime, const TraceOptions& options = {});
  /// Ends it.
  ~Tracing();
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  /// The window so far, of each loader that was at work in it; recording goes on.
  std::vector<Trace> read() const;
  /// The same, and ends it. Empty when it has ended before.
  std::vector<Trace> stop();

 private:
  Runtime runtime_;
  bool on_ = true;
};

/// Bytes that the rings of one loader of that runtime take.
HEADRACE_API std::size_t trace_bytes(const Runtime& runtime, const TraceOptions& options = {});

}  // namespace headrace::inline v1
