#pragma once

#include <atomic>
#include <cstdint>

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

}  // namespace headrace::inline v1::detail
