#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/stats/trace.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::monitor {

/// A line of the picture that is no thread of a loader's: the trainer's steps, say.
struct TraceTrack {
  struct Span {
    std::string name{};
    std::string category{};
    std::int64_t start_ns = 0;  ///< of the steady clock
    std::int64_t duration_ns = 0;
    std::int64_t epoch = -1;  ///< from 0; -1: of none
    std::int64_t step = -1;   ///< likewise
  };
  std::string name{};
  std::vector<Span> spans{};  ///< by start; spans lie in each other or apart
};

/// All that goes into one file.
struct TraceDocument {
  std::string process{};  ///< "headrace train"
  std::vector<Trace> loaders{};
  std::vector<TraceTrack> tracks{};
  std::vector<std::pair<std::string, std::string>> other{};  ///< for "otherData"
};

/// Hands the document out in pieces as Chrome's trace events (one JSON object; chrome://tracing,
/// ui.perfetto.dev): threads and tracks as complete events, a loader's queues as counters, each
/// batch as an asynchronous event from its admission to its delivery, and an arrow from its first
/// piece of work to the wait that it ended. Times count from the earliest event, in microseconds.
HEADRACE_API void write_trace(const TraceDocument& document,
                              const std::function<void(std::string_view)>& sink);

/// The same as a file, which is the old one or the whole new one at any moment; it is never in
/// memory as a whole. Throws ResourceError.
HEADRACE_API void write_trace_file(const std::filesystem::path& file,
                                   const TraceDocument& document);

}  // namespace headrace::inline v1::monitor
