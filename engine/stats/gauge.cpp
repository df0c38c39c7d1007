#include <headrace/engine/stats/internal/gauge.h>

namespace headrace::inline v1::detail {

void Gauge::fill(LoaderStats& stats) const {
  const std::int64_t now = now_ns();
  const std::int64_t spent = now - since_;
  const double elapsed = static_cast<double>(now - begun_);
  stats.elapsed_s = elapsed * 1e-9;
  stats.first_batch_s = static_cast<double>(first_batch_ns_) * 1e-9;
  stats.batches = batches_;
  stats.samples = samples_;
  stats.bytes = bytes_;
  HistogramSum wait;
  wait.add(wait_);
  stats.wait = wait.durations();
  stats.waits_over_50us = long_waits_;
  HistogramSum step;
  step.add(step_);
  stats.step = step.durations();
  const double no_room = static_cast<double>(no_room_ns_ + (no_room_ ? spent : 0));
  stats.room_wait_s = no_room * 1e-9;
  stats.reorder_wait_s = static_cast<double>(reorder_ns_) * 1e-9;
  stats.ready_depth = static_cast<double>(ready_area_ + spent * ready_) / elapsed;
  stats.readiness = static_cast<double>(ready_ns_ + (ready_ > 0 ? spent : 0)) / elapsed;
  stats.full_share = no_room / elapsed;
  stats.peak_bytes_held = peak_held_;
}

}  // namespace headrace::inline v1::detail
