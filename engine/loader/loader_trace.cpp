// What a loader tells a trace: rings for its threads, and marks of batches and queues under its
// mutex.
#include <headrace/engine/loader/detail/loader_core.h>
#include <headrace/engine/runtime/internal/crew.h>

namespace headrace::inline v1::detail {

void LoaderCore::begin_trace(std::size_t events) {
  traced_ = false;
  const int threads = plan_->threads();
  if (rings_.empty() || rings_.back()->events() < events) {
    const std::size_t bytes = TraceRings::bytes(threads, events);
    rings_.reserve(rings_.size() + 1);
    runtime_->acquire(bytes, "trace of loader \"" + plan_->recipe.name + "\"");
    try {
      rings_.push_back(std::make_unique<TraceRings>(threads, events));
    } catch (...) {
      runtime_->release(bytes);
      throw;
    }
    trace_bytes_ += bytes;
  }
  rings_.back()->begin();
  recorder_.trace_to(rings_.back().get());
  traced_ = true;
  if (const auto transfer = this->transfer()) transfer->keep_copies(events);
}

void LoaderCore::end_trace() noexcept {
  recorder_.trace_to(nullptr);
}

/// Empty where the loader had no memory to be traced.
Trace LoaderCore::read_trace() const {
  Trace trace;
  trace.loader = plan_->recipe.name;
  if (!traced_) return trace;
  for (const Recorder::Stage& stage : plan_->stages)
    trace.names.push_back({.name = stage.name, .category = stage.role});
  for (const NodePlan& node : plan_->nodes)
    trace.names.push_back({.name = node.name, .category = "block"});
  for (int thread = 0; thread < recorder_.threads(); ++thread)
    trace.threads.push_back(thread_name(plan_->runtime.threads(), thread));
  rings_.back()->read(trace);
  if (const auto transfer = this->transfer()) trace.copies = transfer->copies_since(trace.from_ns);
  return trace;
}

MemoryForecast LoaderCore::forecast() const {
  MemoryForecast forecast = plan_->forecast();
  if (const std::size_t bytes = trace_bytes_; bytes > 0)
    forecast.items.push_back({.name = "trace", .bytes = bytes});
  return forecast;
}

void LoaderCore::mark(TraceRing::Kind kind, const Flight& flight, std::int64_t duration) noexcept {
  TraceRings* const trace = recorder_.trace();
  if (trace == nullptr) return;
  trace->marks().put({.kind = kind,
                      .rows = static_cast<std::uint32_t>(flight.place.rows),
                      .start = now_ns() - duration,
                      .duration = duration,
                      .batch = flight.place.number,
                      .epoch = static_cast<std::int32_t>(flight.place.epoch),
                      .index = flight.sequence});
}

void LoaderCore::mark_counts() noexcept {
  TraceRings* const trace = recorder_.trace();
  if (trace == nullptr) return;
  trace->marks().put({.kind = TraceRing::Kind::counts,
                      .rows = static_cast<std::uint32_t>(live_blocks_),
                      .start = now_ns(),
                      .batch = transfer_sequence_ - consume_sequence_,
                      .epoch = on_loan_,
                      .row = free_slabs_,
                      .index = static_cast<std::int64_t>(reserved_)});
}

void LoaderCore::put_span(std::size_t stage, const Flight& flight, std::int64_t begun,
                          std::int64_t took) noexcept {
  TraceRings* const trace = recorder_.trace();
  if (trace == nullptr) return;
  trace->of(Crew::thread())
      .put({.name = static_cast<std::uint16_t>(stage),
            .start = begun,
            .duration = took,
            .batch = flight.place.number,
            .epoch = static_cast<std::int32_t>(flight.place.epoch)});
}

}  // namespace headrace::inline v1::detail
