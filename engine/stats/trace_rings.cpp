#include <headrace/engine/base/error.h>
#include <headrace/engine/stats/internal/recorder.h>
#include <headrace/engine/stats/internal/trace_rings.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace headrace::inline v1::detail {

namespace {

/// 768 MiB a thread.
constexpr std::size_t most_events = std::size_t{1} << 24;

TraceSpan span_of(const TraceRing::Event& event, int thread) {
  return {.thread = thread,
          .name = event.name,
          .start_ns = event.start,
          .duration_ns = event.duration,
          .epoch = event.epoch,
          .batch = event.batch,
          .row = event.row,
          .rows = event.rows,
          .index = event.index};
}

TraceCounts counts_of(const TraceRing::Event& event) {
  return {.at_ns = event.start,
          .ready = event.batch,
          .on_loan = event.epoch,
          .free_slabs = event.row,
          .blocks = event.rows,
          .sample_bytes = event.index};
}

void note(const TraceRing::Event& event, TraceBatch& batch) {
  batch.sequence = event.index;
  batch.epoch = event.epoch;
  batch.batch = event.batch;
  batch.rows = event.rows;
  switch (event.kind) {
    case TraceRing::Kind::admitted:
      batch.admitted_ns = event.start;
      break;
    case TraceRing::Kind::collated:
      batch.collated_ns = event.start;
      break;
    case TraceRing::Kind::ready:
      batch.ready_ns = event.start;
      break;
    case TraceRing::Kind::delivered:
      batch.asked_ns = event.start;
      batch.delivered_ns = event.start + event.duration;
      break;
    case TraceRing::Kind::dropped:
      batch.dropped_ns = event.start;
      break;
    case TraceRing::Kind::span:
    case TraceRing::Kind::counts:
      break;
  }
}

}  // namespace

TraceRing::Event TraceRing::unpacked(const Slot& slot) noexcept {
  Words words{};
  for (std::size_t i = 0; i < slot.size(); ++i)
    words[i] = slot[i].load(std::memory_order_acquire);
  const std::int64_t what = words[2];
  return {.kind = static_cast<Kind>(what >> 48 & 0xff),
          .name = static_cast<std::uint16_t>(what >> 32 & 0xffff),
          .rows = static_cast<std::uint32_t>(what & 0xffffffff),
          .start = words[0],
          .duration = words[1],
          .batch = words[3],
          .epoch = static_cast<std::int32_t>(words[4] >> 32),
          .row = static_cast<std::int32_t>(words[4] & 0xffffffff),
          .index = words[5]};
}

std::int64_t TraceRing::read(std::uint64_t since, std::vector<Event>& into) const {
  const std::uint64_t capacity = mask_ + 1;
  const std::uint64_t end = written();
  const std::uint64_t first = std::max(since, end > capacity ? end - capacity : 0);
  const auto before = static_cast<std::ptrdiff_t>(into.size());
  for (std::uint64_t at = first; at < end; ++at)
    into.push_back(unpacked(slots_[at & mask_]));
  // Who writes event number `now` writes over number `now - capacity`.
  const std::uint64_t now = written();
  const std::uint64_t whole = std::min(now >= capacity ? now - capacity + 1 : 0, end);
  if (whole <= first) return static_cast<std::int64_t>(first - since);
  const auto torn = static_cast<std::ptrdiff_t>(whole - first);
  into.erase(into.begin() + before, into.begin() + before + torn);
  return static_cast<std::int64_t>(whole - since);
}

TraceRings::TraceRings(int threads, std::size_t events)
    : events_(events), since_(static_cast<std::size_t>(threads) + 1) {
  for (int i = 0; i <= threads; ++i)
    rings_.push_back(std::make_unique<TraceRing>(events));
}

std::size_t TraceRings::events_of(const TraceOptions& options) {
  if (options.events_per_thread == 0 || options.events_per_thread > most_events)
    throw ConfigError("[trace] events_per_thread must be 1 to " + std::to_string(most_events) +
                      ", got " + std::to_string(options.events_per_thread));
  return std::bit_ceil(options.events_per_thread);
}

void TraceRings::begin() {
  for (std::size_t i = 0; i < rings_.size(); ++i)
    since_[i] = rings_[i]->written();
  from_ns_ = now_ns();
}

void TraceRings::read(Trace& trace) const {
  trace.from_ns = from_ns_;
  trace.to_ns = now_ns();
  std::vector<TraceRing::Event> events;
  for (std::size_t i = 0; i + 1 < rings_.size(); ++i) {
    events.clear();
    trace.lost.push_back(rings_[i]->read(since_[i], events));
    const auto begin = static_cast<std::ptrdiff_t>(trace.spans.size());
    for (const TraceRing::Event& event : events)
      if (event.start >= from_ns_) trace.spans.push_back(span_of(event, static_cast<int>(i)));
    // They were written as they ended: what encloses others behind them.
    std::stable_sort(trace.spans.begin() + begin, trace.spans.end(),
                     [](const TraceSpan& a, const TraceSpan& b) {
                       if (a.start_ns != b.start_ns) return a.start_ns < b.start_ns;
                       return a.duration_ns > b.duration_ns;
                     });
  }
  read_marks(trace);
}

void TraceRings::read_marks(Trace& trace) const {
  std::vector<TraceRing::Event> events;
  trace.lost_marks = rings_.back()->read(since_.back(), events);
  std::map<std::int64_t, TraceBatch> batches;
  for (const TraceRing::Event& event : events) {
    if (event.start + event.duration < from_ns_) continue;
    if (event.kind == TraceRing::Kind::counts)
      trace.counts.push_back(counts_of(event));
    else
      note(event, batches[event.index]);
  }
  for (auto& [sequence, batch] : batches)
    trace.batches.push_back(batch);
}

}  // namespace headrace::inline v1::detail
