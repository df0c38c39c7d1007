#include <headrace/monitor/detail/trace_events.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::inline v1::monitor::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 10;

}  // namespace

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void TraceEvents::text(std::string_view text) {
  waiting_ += text;
  if (waiting_.size() >= piece_bytes) flush();
}

void TraceEvents::event(std::string_view fields) {
  waiting_ += first_ ? "\n{" : ",\n{";
  first_ = false;
  waiting_ += fields;
  text("}");
}

std::string TraceEvents::duration(std::int64_t ns) {
  const std::int64_t whole = std::max<std::int64_t>(ns, 0);
  return fmt::format("{}.{:03}", whole / 1000, whole % 1000);
}

void TraceEvents::flush() {
  if (!waiting_.empty()) sink_(waiting_);
  waiting_.clear();
}

std::string batch_id(std::size_t loader, const TraceBatch& batch) {
  return fmt::format("\"{}.{}\"", loader, batch.sequence);
}

void put_queues(TraceEvents& to, const Trace& trace) {
  const std::string batches = json_text(trace.loader + ": batches");
  const std::string samples = json_text(trace.loader + ": blocks between read and collate");
  const bool has_blocks = std::ranges::any_of(
      trace.counts, [](const TraceCounts& counts) { return counts.blocks > 0; });
  for (const TraceCounts& counts : trace.counts) {
    const std::string time = to.time(counts.at_ns);
    to.event(fmt::format(R"("ph":"C","name":{},"pid":1,"ts":{},"args":{{"ready":{},"on loan":{},)"
                         R"("free slabs":{}}})",
                         batches, time, counts.ready, counts.on_loan, counts.free_slabs));
    if (has_blocks)
      to.event(fmt::format(R"("ph":"C","name":{},"pid":1,"ts":{},"args":{{"blocks":{}}})", samples,
                           time, counts.blocks));
  }
}

// Only batches that were admitted and left within the window: the others have no length.
void put_batches(TraceEvents& to, const Trace& trace, std::size_t number) {
  const int line = TraceLines::first_consumer + static_cast<int>(number);
  for (const TraceBatch& batch : trace.batches) {
    const std::int64_t end = batch.delivered_ns >= 0 ? batch.delivered_ns : batch.dropped_ns;
    if (batch.admitted_ns < 0 || end < batch.admitted_ns) continue;
    const std::string head =
        fmt::format(R"("name":"batch {}","cat":"batch","id":{},"pid":1,"tid":{})", batch.batch,
                    batch_id(number, batch), line);
    to.event(fmt::format(
        R"("ph":"b",{},"ts":{},"args":{{"loader":{},"epoch":{},"rows":{},"dropped":{}}})", head,
        to.time(batch.admitted_ns), json_text(trace.loader), batch.epoch, batch.rows,
        batch.delivered_ns < 0));
    for (const auto& [what, at] :
         {std::pair("collated", batch.collated_ns), std::pair("ready", batch.ready_ns)})
      if (at >= batch.admitted_ns && at <= end)
        to.event(
            fmt::format(R"("ph":"n",{},"ts":{},"args":{{"is":"{}"}})", head, to.time(at), what));
    to.event(fmt::format(R"("ph":"e",{},"ts":{})", head, to.time(end)));
  }
}

// Copies run one behind the other: each begins when it is issued or when the one before is done.
void put_copies(TraceEvents& to, const Trace& trace, std::size_t number) {
  const int line = TraceLines::first_copies + static_cast<int>(number);
  std::int64_t done = trace.from_ns;
  for (const TraceCopy& copy : trace.copies) {
    const std::int64_t begun = std::max(copy.issued_ns, done);
    done = begun + copy.duration_ns;
    to.event(fmt::format(R"("ph":"X","name":"copy","cat":"copy","pid":1,"tid":{},"ts":{},"dur":{},)"
                         R"("args":{{"issued_us":{},"exposed_us":{}}})",
                         line, to.time(begun), TraceEvents::duration(copy.duration_ns),
                         to.time(copy.issued_ns), TraceEvents::duration(copy.exposed_ns)));
  }
}

}  // namespace headrace::inline v1::monitor::detail
