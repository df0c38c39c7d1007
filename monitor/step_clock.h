#pragma once

#include <headrace/monitor/step_budget.h>

#include <array>
#include <chrono>

namespace headrace::inline v1::monitor {

/// What a training loop is doing.
enum class StepPart { other, data_wait, copy, compute };

/// Splits a training loop's time into parts without a gap: `enter` ends the part before. Not
/// thread-safe.
///
///     clock.enter(StepPart::data_wait);  batch = loader.next();
///     clock.enter(StepPart::compute);    train(batch);
///     clock.enter(StepPart::other);      log();
///     meter.add(clock.end_step());
class StepClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// The first step starts now.
  StepClock() : step_start_(Clock::now()), part_start_(step_start_) {}

  /// From now on time belongs to `part`.
  void enter(StepPart part) {
    const auto now = Clock::now();
    close(now);
    part_ = part;
  }

  /// Ends the step; the next one starts now, in `other`.
  StepTimes end_step() {
    const auto now = Clock::now();
    close(now);
    part_ = StepPart::other;
    const StepTimes times{.wall_s = seconds(now - step_start_),
                          .data_wait_s = spent(StepPart::data_wait),
                          .copy_s = spent(StepPart::copy),
                          .compute_s = spent(StepPart::compute)};
    spent_ = {};
    step_start_ = now;
    return times;
  }

  /// Leaves out the time since the step's start (an evaluation, a checkpoint): the step starts now.
  void restart() {
    spent_ = {};
    part_ = StepPart::other;
    step_start_ = part_start_ = Clock::now();
  }

 private:
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }
  double spent(StepPart part) const { return spent_[static_cast<std::size_t>(part)]; }
  void close(Clock::time_point now) {
    spent_[static_cast<std::size_t>(part_)] += seconds(now - part_start_);
    part_start_ = now;
  }

  std::array<double, 4> spent_{};
  StepPart part_ = StepPart::other;
  Clock::time_point step_start_;
  Clock::time_point part_start_;
};

}  // namespace headrace::inline v1::monitor
