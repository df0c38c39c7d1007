#include <headrace/engine/runtime/internal/runtime_core.h>
#include <headrace/engine/runtime/tracing.h>
#include <headrace/engine/stats/internal/trace_rings.h>

#include <utility>

namespace headrace::inline v1 {

using detail::RuntimeCore;

Tracing::Tracing(Runtime runtime, const TraceOptions& options) : runtime_(std::move(runtime)) {
  const auto core = RuntimeCore::share(runtime_);
  core->require_home("[trace] a trace");
  core->traced().start(detail::TraceRings::events_of(options));
}

Tracing::~Tracing() {
  const auto core = RuntimeCore::share(runtime_);
  if (on_ && !core->forked()) core->traced().stop();
}

std::vector<Trace> Tracing::read() const {
  const auto core = RuntimeCore::share(runtime_);
  core->require_home("[trace] read()");
  return on_ ? core->traced().read() : std::vector<Trace>();
}

std::vector<Trace> Tracing::stop() {
  std::vector<Trace> traces = read();
  if (std::exchange(on_, false)) RuntimeCore::share(runtime_)->traced().stop();
  return traces;
}

std::size_t trace_bytes(const Runtime& runtime, const TraceOptions& options) {
  return detail::TraceRings::bytes(runtime.threads() + runtime.io_threads(),
                                   detail::TraceRings::events_of(options));
}

}  // namespace headrace::inline v1
