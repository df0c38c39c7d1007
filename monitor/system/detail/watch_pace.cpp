#include <headrace/monitor/system/detail/watch_pace.h>

#include <algorithm>

namespace headrace::inline v1::monitor::detail {
namespace {

constexpr double share_of_looks = 0.75;  // of all that may be used
constexpr double newest = 0.25;          // weight of the last cost among those before
// Of the clock: what a calm hour saves is not spent at once, nor a costly one paid for all day.
constexpr double most_saved_s = 60.0;

double smoothed(double before, double now) {
  return before > 0.0 ? before + newest * (now - before) : now;
}

}  // namespace

double WatchPace::looked(double cpu_s, double elapsed_s) {
  look_s_ = smoothed(look_s_, cpu_s);
  const double most = std::max(share_ * most_saved_s, 3.0 * scan_s_);
  saved_s_ = std::clamp(saved_s_ + share_ * elapsed_s - cpu_s, -most, most);
  return std::max(period_s_, look_s_ / (share_of_looks * share_));
}

void WatchPace::scanned(double cpu_s) {
  scan_s_ = std::max(smoothed(scan_s_, cpu_s), cpu_s);
  saved_s_ -= cpu_s;
}

}  // namespace headrace::inline v1::monitor::detail
