#include <headrace/apps/terminal/utc.h>
#include <headrace/apps/view/write_run_trace.h>

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

// What is in it, with what is not.
std::string contents(const monitor::TraceDocument& document) {
  std::size_t spans = 0;
  std::int64_t lost = 0;
  for (const Trace& trace : document.loaders) {
    spans += trace.spans.size();
    lost += trace.lost_marks;
    for (const std::int64_t of_thread : trace.lost)
      lost += of_thread;
  }
  std::string text = fmt::format("{} spans of {} loader{}", spans, document.loaders.size(),
                                 document.loaders.size() == 1 ? "" : "s");
  if (lost > 0) text += fmt::format("; {} older events were lost, the rings were full", lost);
  return text;
}

}  // namespace

std::string write_run_trace(const std::filesystem::path& file, const std::string& what,
                            std::vector<Trace> loaders, std::vector<monitor::TraceTrack> tracks) {
  const monitor::TraceDocument document{
      .process = "headrace",
      .loaders = std::move(loaders),
      .tracks = std::move(tracks),
      .other = {{"of", what}, {"written", utc_time()}, {"headrace", HEADRACE_VERSION}}};
  monitor::write_trace_file(file, document);
  return fmt::format("trace of {} in {} ({}); chrome://tracing and ui.perfetto.dev show it", what,
                     file.string(), contents(document));
}

}  // namespace headrace::inline v1::app
