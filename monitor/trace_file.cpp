#include <headrace/engine/base/internal/atomic_file.h>
#include <headrace/monitor/detail/trace_events.h>
#include <headrace/monitor/trace_file.h>

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

using detail::json_text;
using detail::TraceEvents;
using detail::TraceLines;

// Loaders of one runtime share its threads, which are one line each.
class Document {
 public:
  Document(const TraceDocument& document, const std::function<void(std::string_view)>& sink)
      : document_(document), to_(origin_of(document), sink) {
    for (const Trace& trace : document.loaders)
      for (const std::string& thread : trace.threads)
        lines_.emplace(thread, 0);
    int line = TraceLines::first_thread;
    for (auto& [thread, number] : lines_)
      number = line++;
  }

  void write() {
    to_.text("{\"traceEvents\":[");
    put_names();
    for (std::size_t i = 0; i < document_.tracks.size(); ++i)
      put_track(document_.tracks[i], TraceLines::first_track + static_cast<int>(i));
    put_threads();
    for (std::size_t i = 0; i < document_.loaders.size(); ++i)
      put_loader(document_.loaders[i], i);
    to_.text("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{");
    put_other();
    to_.text("}}\n");
    to_.flush();
  }

 private:
  static std::int64_t origin_of(const TraceDocument& document) {
    std::int64_t origin = std::numeric_limits<std::int64_t>::max();
    for (const Trace& trace : document.loaders) {
      origin = std::min(origin, trace.from_ns);
      for (const TraceBatch& batch : trace.batches)
        if (batch.asked_ns >= 0) origin = std::min(origin, batch.asked_ns);
    }
    for (const TraceTrack& track : document.tracks)
      for (const TraceTrack::Span& span : track.spans)
        origin = std::min(origin, span.start_ns);
    return origin;
  }

  void name_line(int line, const std::string& name) {
    to_.event(fmt::format(R"("ph":"M","name":"thread_name","pid":1,"tid":{},"args":{{"name":{}}})",
                          line, json_text(name)));
    to_.event(fmt::format(
        R"("ph":"M","name":"thread_sort_index","pid":1,"tid":{},"args":{{"sort_index":{}}})", line,
        line));
  }

  void put_names() {
    to_.event(fmt::format(R"("ph":"M","name":"process_name","pid":1,"tid":0,"args":{{"name":{}}})",
                          json_text(document_.process)));
    for (std::size_t i = 0; i < document_.tracks.size(); ++i)
      name_line(TraceLines::first_track + static_cast<int>(i), document_.tracks[i].name);
    for (std::size_t i = 0; i < document_.loaders.size(); ++i) {
      const Trace& trace = document_.loaders[i];
      name_line(TraceLines::first_consumer + static_cast<int>(i), "waits for " + trace.loader);
      if (!trace.copies.empty())
        name_line(TraceLines::first_copies + static_cast<int>(i), "copies of " + trace.loader);
    }
    for (const auto& [thread, line] : lines_)
      name_line(line, thread);
  }

  void put_track(const TraceTrack& track, int line) {
    for (const TraceTrack::Span& span : track.spans) {
      std::string place;
      if (span.epoch >= 0) place += fmt::format("\"epoch\":{}", span.epoch);
      if (span.step >= 0)
        place += fmt::format("{}\"step\":{}", place.empty() ? "" : ",", span.step);
      to_.event(fmt::format(
          R"("ph":"X","name":{},"cat":{},"pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}})",
          json_text(span.name), json_text(span.category), line, to_.time(span.start_ns),
          TraceEvents::duration(span.duration_ns), place));
    }
  }

  struct Piece {
    const Trace* trace;
    const TraceSpan* span;
  };

  void put_threads() {
    for (const auto& [thread, line] : lines_) {
      std::vector<Piece> pieces;
      for (const Trace& trace : document_.loaders)
        for (const TraceSpan& span : trace.spans)
          if (trace.threads[static_cast<std::size_t>(span.thread)] == thread)
            pieces.push_back({&trace, &span});
      std::ranges::stable_sort(pieces, {}, [](const Piece& piece) {
        return std::pair(piece.span->start_ns, -piece.span->duration_ns);
      });
      for (const Piece& piece : pieces)
        put_span(*piece.trace, *piece.span, line);
    }
  }

  void put_span(const Trace& trace, const TraceSpan& span, int line) {
    const Trace::Name& name = trace.names[span.name];
    std::string place = fmt::format(R"("loader":{},"epoch":{},"batch":{})", json_text(trace.loader),
                                    span.epoch, span.batch);
    if (span.rows > 0) place += fmt::format(R"(,"row":{},"rows":{})", span.row, span.rows);
    if (span.index >= 0) place += fmt::format(R"(,"index":{})", span.index);
    to_.event(fmt::format(
        R"("ph":"X","name":{},"cat":{},"pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}})",
        json_text(name.name), json_text(name.category), line, to_.time(span.start_ns),
        TraceEvents::duration(span.duration_ns), place));
  }

  void put_loader(const Trace& trace, std::size_t number) {
    const int line = TraceLines::first_consumer + static_cast<int>(number);
    for (const TraceBatch& batch : trace.batches) {
      if (batch.delivered_ns < 0) continue;
      to_.event(
          fmt::format(R"("ph":"X","name":"wait","cat":"wait","pid":1,"tid":{},"ts":{},"dur":{},)"
                      R"("args":{{"loader":{},"epoch":{},"batch":{}}})",
                      line, to_.time(batch.asked_ns),
                      TraceEvents::duration(batch.delivered_ns - batch.asked_ns),
                      json_text(trace.loader), batch.epoch, batch.batch));
    }
    detail::put_queues(to_, trace);
    detail::put_batches(to_, trace, number);
    detail::put_copies(to_, trace, number);
    put_arrows(trace, number);
  }

  // From the first piece of work on a batch to the end of the wait for it.
  void put_arrows(const Trace& trace, std::size_t number) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const TraceBatch*>> batches;
    for (const TraceBatch& batch : trace.batches)
      if (batch.admitted_ns >= 0 && batch.delivered_ns >= 0)
        batches[{batch.epoch, batch.batch}].push_back(&batch);
    std::map<const TraceBatch*, const TraceSpan*> first;
    for (const TraceSpan& span : trace.spans) {
      const auto found = batches.find({span.epoch, span.batch});
      if (found == batches.end()) continue;
      for (const TraceBatch* batch : found->second) {
        if (span.start_ns < batch->admitted_ns || span.start_ns > batch->delivered_ns) continue;
        const TraceSpan*& known = first[batch];
        if (known == nullptr || span.start_ns < known->start_ns) known = &span;
      }
    }
    for (const TraceBatch& batch : trace.batches)
      if (const auto found = first.find(&batch); found != first.end())
        put_arrow(trace, number, batch, *found->second);
  }

  void put_arrow(const Trace& trace, std::size_t number, const TraceBatch& batch,
                 const TraceSpan& from) {
    const std::string head = fmt::format(R"("name":"batch {}","cat":"flow","id":{},"pid":1)",
                                         batch.batch, detail::batch_id(number, batch));
    to_.event(fmt::format(R"("ph":"s",{},"tid":{},"ts":{})", head,
                          lines_.at(trace.threads[static_cast<std::size_t>(from.thread)]),
                          to_.time(from.start_ns)));
    to_.event(fmt::format(R"("ph":"f","bp":"e",{},"tid":{},"ts":{})", head,
                          TraceLines::first_consumer + static_cast<int>(number),
                          to_.time(batch.delivered_ns)));
  }

  void put_other() {
    std::string text;
    const auto add = [&](const std::string& name, const std::string& value) {
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_text(name), json_text(value));
    };
    for (const auto& [name, value] : document_.other)
      add(name, value);
    for (std::size_t i = 0; i < document_.loaders.size(); ++i) {
      const Trace& trace = document_.loaders[i];
      std::int64_t lost = 0;
      for (const std::int64_t of_thread : trace.lost)
        lost += of_thread;
      const std::string who = fmt::format("loader {} ({})", i, trace.loader);
      add(who + ": spans kept", fmt::format("{}", trace.spans.size()));
      add(who + ": spans lost", fmt::format("{}", lost));
      add(who + ": marks lost", fmt::format("{}", trace.lost_marks));
    }
    to_.text(text);
  }

  const TraceDocument& document_;
  TraceEvents to_;
  std::map<std::string, int> lines_;  // of threads
};

}  // namespace

void write_trace(const TraceDocument& document, const std::function<void(std::string_view)>& sink) {
  Document(document, sink).write();
}

void write_trace_file(const std::filesystem::path& file, const TraceDocument& document) {
  std::uint64_t size = 0;
  write_trace(document, [&size](std::string_view piece) { size += piece.size(); });
  const auto pieces = [&document](const ByteSink& sink) {
    write_trace(document, [&sink](std::string_view piece) {
      sink(std::as_bytes(std::span(piece.data(), piece.size())));
    });
  };
  write_file_atomically(file, {.size = size, .pieces = pieces}, {.who = "trace"});
}

}  // namespace headrace::inline v1::monitor
