#pragma once

#include <headrace/engine/base/export.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace::inline v1::monitor::detail {

/// Counts of durations in buckets 1/16 of an octave wide, from 1 ns to about 18 minutes: a quantile
/// is right to 5 % and the memory does not grow with the run. Not thread-safe.
class LogHistogram {
 public:
  void add(double seconds) {
    ++counts_[bucket(seconds)];
    ++total_;
    max_ = std::max(max_, seconds);
  }

  /// The value below which `share` of the entries lie (upper edge of its bucket, never above the
  /// largest entry).
  double quantile(double share) const {
    if (total_ == 0) return 0.0;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen >= std::max<std::uint64_t>(wanted, 1)) return std::min(upper_edge(i), max_);
    }
    return max_;
  }

  double max() const { return max_; }

 private:
  static constexpr double unit = 1e-9;
  static constexpr std::size_t per_octave = 16;
  static constexpr std::size_t octaves = 40;

  static std::size_t bucket(double seconds) {
    if (!(seconds > unit)) return 0;
    const double place = std::log2(seconds / unit) * per_octave;
    return std::min(static_cast<std::size_t>(place) + 1, octaves * per_octave);
  }
  static double upper_edge(std::size_t bucket) {
    return bucket == 0 ? 0.0 : unit * std::exp2(static_cast<double>(bucket) / per_octave);
  }

  std::array<std::uint64_t, octaves * per_octave + 1> counts_{};
  std::uint64_t total_ = 0;
  double max_ = 0.0;
};

}  // namespace headrace::inline v1::monitor::detail

namespace headrace::inline v1::monitor {

/// What one training step's time was made of. Seconds. What the parts leave of the wall time is
/// "other".
struct StepTimes {
  double wall_s = 0.0;       ///< from the end of the step before to the end of this one
  double data_wait_s = 0.0;  ///< blocked in the loader's next()
  double copy_s = 0.0;       ///< host-to-device copy that compute did not hide; 0 without a GPU
  /// Forward, backward, optimiser: on the device, or on the CPU without one.
  double compute_s = 0.0;

  double other_s() const { return wall_s - data_wait_s - copy_s - compute_s; }

  StepTimes& operator+=(const StepTimes& more) {
    wall_s += more.wall_s;
    data_wait_s += more.data_wait_s;
    copy_s += more.copy_s;
    compute_s += more.compute_s;
    return *this;
  }
};

struct StepBudgetOptions {
  std::size_t warmup_steps = 20;  ///< steps left out of the verdict, and
  /// Seconds left out: whichever ends later, never more than half of the steps.
  double warmup_s = 30.0;
  double long_wait_s = 50e-6;  ///< a wait above this counts as a long one
  bool on_gpu = false;         ///< names the compute part "gpu" in sentences
};

/// The measured window of a step budget. Sums over the window, in seconds, unless a name says
/// otherwise.
struct HEADRACE_API StepBudget {
  std::size_t steps = 0;          ///< steps in the window
  std::size_t skipped_steps = 0;  ///< warm-up steps before it
  /// The run was too short for the whole warm-up; half of it was left out instead.
  bool warmup_cut_short = false;
  bool on_gpu = false;
  double wall_s = 0.0;
  double data_wait_s = 0.0;
  double copy_s = 0.0;
  double compute_s = 0.0;
  double other_s = 0.0;
  double wait_p50_s = 0.0;
  double wait_p99_s = 0.0;
  double wait_max_s = 0.0;
  /// Share of steps whose wait was above StepBudgetOptions::long_wait_s.
  double long_wait_share = 0.0;

  /// Data wait / wall time; 0 for an empty window.
  double data_stall_fraction() const;
  /// |sum of the parts - wall| / wall. Above 0.02 the clocks disagree and no verdict should be
  /// drawn.
  double sum_error() const;
  /// The mean step: "step 98 ms = data 1 + copy 0 + gpu 95 + other 2". The parts shown add up to
  /// the total shown.
  std::string sentence() const;
  /// Which steps were counted: "980 steps after 20 of warm-up".
  std::string window() const;
};

/// Adds up steps. Memory is bounded by the warm-up, not by the run. Not thread-safe: one per
/// training loop.
class HEADRACE_API StepBudgetMeter {
 public:
  explicit StepBudgetMeter(StepBudgetOptions options = {});

  /// Adds a finished step.
  void add(const StepTimes& step);

  /// The budget of the window so far.
  StepBudget summary() const;

  /// Starts a new window; a warm-up that was under way goes on with what is left of it.
  void next_epoch();

 private:
  struct Sums {
    std::size_t steps = 0;
    std::size_t long_waits = 0;
    double wall_s = 0.0;
    double data_wait_s = 0.0;
    double copy_s = 0.0;
    double compute_s = 0.0;
    double other_s = 0.0;
    detail::LogHistogram waits;
  };

  void fold(Sums& sums, const StepTimes& step) const;
  bool settle();

  StepBudgetOptions options_;
  Sums sums_;
  std::vector<StepTimes> pending_;  // steps of the window while the warm-up's end is not settled
  std::size_t warmup_end_ = 0;      // first step of pending_ after the whole warm-up, once found
  double elapsed_s_ = 0.0;          // of the epoch's steps in pending_
  bool warmup_found_ = false;
  bool settled_ = false;
  std::size_t skipped_ = 0;
};

}  // namespace headrace::inline v1::monitor
