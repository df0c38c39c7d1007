#include <headrace/apps/figures/no_value.h>
#include <headrace/apps/report/sample_clock.h>

#include <algorithm>
#include <cmath>

namespace headrace::inline v1::app {
namespace {

constexpr double behind_s = 60.0;  // the sampler's clock rests while the machine sleeps
constexpr double longest_unshortened_s = 600.0;
constexpr std::size_t most_pauses = 1000;

}  // namespace

// What lies between two samples is by the sampler's own clock.
double SampleClock::time_of(double own_s, const std::optional<double>& utc) {
  if (!std::isfinite(own_s)) return utc.value_or(no_value);
  if (!base_ || own_s < own_before_ || (utc && *utc - *base_ - own_s > behind_s)) {
    base_ = utc ? *utc - own_s : base_.value_or(0.0);
    if (started_) base_ = std::max(*base_, now_ - own_s);
  }
  own_before_ = own_s;
  return *base_ + own_s;
}

double SampleClock::place(double own_s, const std::optional<double>& utc) {
  double time = time_of(own_s, utc);
  if (!std::isfinite(time)) return no_value;
  if (!started_) now_ = time;
  started_ = true;
  time = std::max(time, now_);
  const double gap = time - now_;
  if (gap > longest_unshortened_s && pauses_.size() < most_pauses) {
    pauses_.push_back({.at = now_ - left_out_, .seconds = gap});
    left_out_ += gap - shown_pause_s;
  }
  now_ = time;
  return now_ - left_out_;
}

}  // namespace headrace::inline v1::app
