#pragma once

#include <headrace/engine/stats/internal/recorder.h>

#include <algorithm>
#include <cstdint>

namespace headrace::inline v1::detail {

/// What the consumer's side of a loader sees, weighted by time. Guarded by the loader's mutex.
class Gauge {
 public:
  /// The state that holds from now on.
  void change(int ready, bool starved_of_room) noexcept {
    const std::int64_t now = now_ns();
    const std::int64_t spent = now - since_;
    ready_area_ += spent * ready_;
    if (ready_ > 0) ready_ns_ += spent;
    if (no_room_) no_room_ns_ += spent;
    since_ = now;
    ready_ = ready;
    no_room_ = starved_of_room;
  }

  void call() noexcept {
    const std::int64_t now = now_ns();
    if (asking_) return;
    asking_ = true;
    if (returned_ != 0) step_.add(now - returned_);
    called_ = now;
  }
  /// Returns how long it was waited for.
  std::int64_t deliver(std::int64_t samples, std::int64_t bytes) noexcept {
    returned_ = now_ns();
    asking_ = false;
    const std::int64_t waited = returned_ - called_;
    wait_.add(waited);
    if (waited > 50'000) ++long_waits_;
    if (batches_ == 0 && first_batch_ns_ == 0 && started_ != 0)
      first_batch_ns_ = returned_ - started_;
    ++batches_;
    samples_ += samples;
    bytes_ += bytes;
    return waited;
  }
  void start() noexcept {
    if (started_ == 0) started_ = now_ns();
  }
  /// Pauses between epochs are no step of the trainer.
  void end_epoch() noexcept {
    returned_ = 0;
    asking_ = false;
  }
  void reordered(std::int64_t ns) noexcept { reorder_ns_ += ns; }
  void hold(std::int64_t bytes) noexcept { peak_held_ = std::max(peak_held_, bytes); }

  /// Starts counting anew; the present state and the time of the first batch stay.
  void clear() noexcept {
    begun_ = since_ = now_ns();
    ready_area_ = ready_ns_ = no_room_ns_ = reorder_ns_ = 0;
    long_waits_ = batches_ = samples_ = bytes_ = peak_held_ = 0;
    wait_.clear();
    step_.clear();
  }
  void fill(LoaderStats& stats) const;

 private:
  std::int64_t begun_ = now_ns();
  std::int64_t since_ = begun_;
  int ready_ = 0;
  bool no_room_ = false;
  std::int64_t ready_area_ = 0;
  std::int64_t ready_ns_ = 0;
  std::int64_t no_room_ns_ = 0;
  std::int64_t started_ = 0;
  std::int64_t first_batch_ns_ = 0;
  std::int64_t called_ = 0;
  bool asking_ = false;
  std::int64_t returned_ = 0;
  Histogram wait_;
  Histogram step_;
  std::int64_t long_waits_ = 0;
  std::int64_t batches_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t reorder_ns_ = 0;
  std::int64_t peak_held_ = 0;
};

}  // namespace headrace::inline v1::detail
