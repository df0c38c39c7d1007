#pragma once

#include <headrace/engine/plan/internal/plan.h>
#include <headrace/engine/stats/internal/recorder.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// Shares the time of a block out among its stages: measured whole, split as the timed rows were.
class Stopwatch {
 public:
  Stopwatch(const Plan& plan, Recorder& recorder, std::int64_t rows, int thread)
      : plan_(plan),
        recorder_(recorder),
        activity_(recorder.activity(thread)),
        rows_(rows),
        thread_(thread),
        on_(recorder.on()),
        trace_(recorder.trace()),
        begun_(now_ns()) {}

  int thread() const noexcept { return thread_; }
  void start_row(std::int64_t k) noexcept {
    row_timed_ = (on_ || trace_ != nullptr) && is_timed(k);
    if (row_timed_) last_ = now_ns();
  }
  /// The stage that is about to run: where an exception belongs.
  void enter(std::size_t stage) noexcept {
    stage_ = stage;
    activity_.enter(stage);
    heap_ = recorder_.heap();
  }
  std::size_t stage() const noexcept { return stage_; }
  void leave() noexcept {
    recorder_.keep(thread_, stage_, heap_);
    if (!row_timed_) return;
    const std::int64_t now = now_ns();
    split_[stage_ < most ? stage_ : most - 1] += now - last_;
    if (trace_ != nullptr) put_span(now);
    last_ = now;
  }
  std::int64_t stop(const NodePlan& node) {
    const std::int64_t whole = now_ns() - begun_;
    if (!on_) return whole;
    std::int64_t sum = 0;
    for (const std::int64_t part : split_)
      sum += part;
    const double scale = sum > 0 ? static_cast<double>(whole) / static_cast<double>(sum) : 0.0;
    const auto share = [&](std::size_t stage) {
      const std::int64_t part = split_[stage < most ? stage : most - 1];
      recorder_.add(thread_, stage, rows_,
                    static_cast<std::int64_t>(static_cast<double>(part) * scale));
    };
    if (node.reads) share(plan_.read_stage());
    for (std::size_t s = node.first_step; s < node.last_step; ++s)
      share(plan_.step_stage(s));
    if (node.collates) share(plan_.collate_stage());
    return whole;
  }

 private:
  static constexpr std::size_t most = 32;

  /// Apart from what runs without a trace.
  [[gnu::cold, gnu::noinline]] void put_span(std::int64_t now) const noexcept {
    const Activity::State state = activity_.state();
    trace_->of(thread_).put({.name = static_cast<std::uint16_t>(stage_),
                             .rows = 1,
                             .start = last_,
                             .duration = now - last_,
                             .batch = state.batch,
                             .epoch = static_cast<std::int32_t>(state.epoch),
                             .row = static_cast<std::int32_t>(state.row),
                             .index = state.index});
  }
  /// All rows of a short block, one in sixteen of a long one.
  bool is_timed(std::int64_t k) const noexcept { return rows_ <= 4 || (k & 15) == 0; }

  const Plan& plan_;
  Recorder& recorder_;
  Activity& activity_;
  std::int64_t rows_;
  int thread_;
  bool on_;
  TraceRings* trace_;  ///< null: no trace is on
  bool row_timed_ = false;
  std::int64_t begun_;
  std::int64_t last_ = 0;
  std::size_t stage_ = 0;
  std::int64_t heap_ = 0;  ///< see Recorder::heap()
  std::array<std::int64_t, most> split_{};
};

}  // namespace headrace::inline v1::detail
