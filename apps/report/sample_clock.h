#pragma once

#include <optional>
#include <vector>

namespace headrace::inline v1::app {

/// A time in which nothing was sampled: between two processes of a run, say.
struct SamplePause {
  double at = 0.0;       ///< where it begins along the axis
  double seconds = 0.0;  ///< that it lasted
};

/// Places the samples of a run along one axis of time, which never goes back: a process that goes
/// on begins the sampler's clock anew, and the clock of the day may be set back. Of a pause of more
/// than ten minutes two stay, so that a run that went on days later can be read. Not thread-safe.
class SampleClock {
 public:
  static constexpr double shown_pause_s = 120.0;

  /// Where a sample stands, in seconds since 1970 without pauses, by the sampler's own clock (not a
  /// number: none) and the clock of the day. Not a number without either.
  double place(double own_s, const std::optional<double>& utc);

  /// When the last one was, in seconds since 1970.
  double now() const { return now_; }
  /// At most 1000; later ones are not shortened.
  const std::vector<SamplePause>& pauses() const { return pauses_; }

 private:
  double time_of(double own_s, const std::optional<double>& utc);

  std::optional<double> base_;  // of the sampler's clock
  double own_before_ = 0.0;
  bool started_ = false;
  double now_ = 0.0;
  double left_out_ = 0.0;
  std::vector<SamplePause> pauses_;
};

}  // namespace headrace::inline v1::app
