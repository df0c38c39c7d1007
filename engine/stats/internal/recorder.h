#pragma once

#include <headrace/engine/base/internal/own_heap.h>
#include <headrace/engine/stats/internal/trace_rings.h>
#include <headrace/engine/stats/stats.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace headrace::inline v1::detail {

/// What a thread of the pipeline is in. Written by that thread alone and without an order: whoever
/// looks sees some recent state.
class alignas(64) Activity {
 public:
  struct State {
    std::int64_t stage = -1;  ///< -1: in none
    std::int64_t index = -1;
    std::int64_t epoch = 0;
    std::int64_t position = -1;
    std::int64_t batch = -1;
    std::int64_t row = -1;
  };

  /// Goes into a stage; what was done before counts as finished.
  void enter(std::size_t stage) noexcept {
    put(stage_, static_cast<std::int64_t>(stage));
    move();
  }
  void at_row(std::int64_t row, std::int64_t position, std::int64_t index) noexcept {
    put(row_, row);
    put(position_, position);
    put(index_, index);
  }
  void move() noexcept { put(moves_, moves_.load(std::memory_order_relaxed) + 1); }

  std::int64_t moves() const noexcept { return moves_.load(std::memory_order_relaxed); }
  State state() const noexcept {
    return {.stage = stage_.load(std::memory_order_relaxed),
            .index = index_.load(std::memory_order_relaxed),
            .epoch = epoch_.load(std::memory_order_relaxed),
            .position = position_.load(std::memory_order_relaxed),
            .batch = batch_.load(std::memory_order_relaxed),
            .row = row_.load(std::memory_order_relaxed)};
  }

  /// Work on a block or a batch, from here to the end of the scope. Work may lie within work, where
  /// a step waits inside TBB.
  class Work {
   public:
    Work(Activity& activity, const State& state) noexcept
        : activity_(activity), before_(activity.state()) {
      activity_.set(state);
    }
    ~Work() { activity_.set(before_); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    Activity& activity_;
    State before_;
  };

 private:
  static void put(std::atomic<std::int64_t>& to, std::int64_t value) noexcept {
    to.store(value, std::memory_order_relaxed);
  }
  void set(const State& state) noexcept {
    put(stage_, state.stage);
    put(epoch_, state.epoch);
    put(batch_, state.batch);
    at_row(state.row, state.position, state.index);
    move();
  }

  std::atomic<std::int64_t> moves_{0};
  std::atomic<std::int64_t> stage_{-1};
  std::atomic<std::int64_t> index_{-1};
  std::atomic<std::int64_t> epoch_{0};
  std::atomic<std::int64_t> position_{-1};
  std::atomic<std::int64_t> batch_{-1};
  std::atomic<std::int64_t> row_{-1};
};

inline std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A counter with one writer at a time; readers see some recent value.
class Counter {
 public:
  void add(std::int64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void raise_to(std::int64_t n) noexcept {
    if (n > value_.load(std::memory_order_relaxed)) value_.store(n, std::memory_order_relaxed);
  }
  std::int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }
  void clear() noexcept { value_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

/// Durations by powers of two, each cut in four.
class Histogram {
 public:
  void add(std::int64_t ns, std::int64_t times = 1) noexcept {
    buckets_[bucket(ns)].add(times);
    count_.add(times);
    total_.add(ns * times);
    most_.raise_to(ns);
  }
  void clear() noexcept;

  static constexpr std::size_t buckets = 168;
  static std::size_t bucket(std::int64_t ns) noexcept {
    const auto v = static_cast<std::uint64_t>(ns < 4 ? 4 : ns);
    const unsigned octave = static_cast<unsigned>(std::bit_width(v)) - 1U;
    const std::size_t index = (octave - 2) * 4 + ((v >> (octave - 2)) & 3U);
    return index < buckets ? index : buckets - 1;
  }

 private:
  friend class HistogramSum;
  std::array<Counter, buckets> buckets_;
  Counter count_;
  Counter total_;
  Counter most_;
};

/// Several histograms read as one.
class HistogramSum {
 public:
  void add(const Histogram& histogram) noexcept;
  Durations durations() const;

 private:
  double quantile(double share) const;

  std::array<std::int64_t, Histogram::buckets> buckets_{};
  std::int64_t count_ = 0;
  std::int64_t total_ = 0;
  std::int64_t most_ = 0;
};

/// Counters of every stage, one set for each thread that may run it; nothing on the hot path is
/// shared.
class Recorder {
 public:
  struct Stage {
    std::string name;
    std::string role;
    StageStats::Place place = StageStats::Place::worker;
    int limit = 0;
  };

  /// `on` false: no times are recorded. `metered` false: no stage has kept anything.
  Recorder(std::vector<Stage> stages, int threads, bool on, bool metered = false);

  bool on() const noexcept { return on_; }
  int threads() const noexcept { return threads_; }
  /// What a thread is in; kept whether statistics are on or not.
  Activity& activity(int thread) noexcept { return activities_[static_cast<std::size_t>(thread)]; }
  const Activity& activity(int thread) const noexcept {
    return activities_[static_cast<std::size_t>(thread)];
  }
  void add(int thread, std::size_t stage, std::int64_t items, std::int64_t busy_ns) noexcept;
  void fail(int thread, std::size_t stage) noexcept { cell(thread, stage).failures.add(1); }
  /// Where events go while a trace is on; null while none is.
  TraceRings* trace() const noexcept { return trace_.load(std::memory_order_acquire); }
  /// They outlive all threads that may have seen them.
  void trace_to(TraceRings* rings) noexcept { trace_.store(rings, std::memory_order_release); }
  std::int64_t heap() const noexcept { return metered_ ? heap_of_steps() : 0; }
  /// What a call of the stage took from the heap and did not give back, since heap() was `before`.
  void keep(int thread, std::size_t stage, std::int64_t before) noexcept {
    if (metered_) cell(thread, stage).kept.add(heap_of_steps() - before);
  }
  /// Of all threads, for each stage; since the recorder was made.
  std::vector<std::int64_t> kept() const;
  const std::string& name(std::size_t stage) const noexcept { return stages_[stage].name; }
  std::vector<StageStats> stages() const;
  void clear() noexcept;

 private:
  struct alignas(64) Cell {
    Counter items;
    Counter failures;
    Counter busy;
    Counter kept;
    Histogram service;
  };
  Cell& cell(int thread, std::size_t stage) noexcept {
    return cells_[static_cast<std::size_t>(thread) * stages_.size() + stage];
  }

  std::vector<Stage> stages_;
  int threads_;
  bool on_;
  bool metered_;
  std::unique_ptr<Cell[]> cells_;
  std::unique_ptr<Activity[]> activities_;
  std::atomic<TraceRings*> trace_{nullptr};
};

}  // namespace headrace::inline v1::detail
