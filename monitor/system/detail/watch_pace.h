#pragma once

#include <headrace/engine/base/export.h>

namespace headrace::inline v1::monitor::detail {

/// How often a watch looks, so that its thread stays below a share of a core whatever a look costs
/// on this machine: looks come less often where they alone would pass three quarters of the share,
/// and a scan of all processes only when it has been saved up. Counts what it is told, reads no
/// clock. Not thread-safe.
class HEADRACE_API WatchPace {
 public:
  WatchPace(double period_s, double share) : period_s_(period_s), share_(share) {}

  /// A look took so much CPU; so long passed since the one before. Gives the seconds to the next.
  double looked(double cpu_s, double elapsed_s);

  /// Whether all processes may be looked at now. A busy machine may use what was saved; otherwise
  /// as much is kept as another scan would take.
  bool may_scan(bool busy) const { return saved_s_ >= (busy ? 1.0 : 2.0) * scan_s_; }
  void scanned(double cpu_s);

 private:
  double period_s_;
  double share_;
  double look_s_ = 0.0;   // CPU time of a look, smoothed
  double scan_s_ = 0.0;   // likewise of a scan; 0: none was made
  double saved_s_ = 0.0;  // CPU time that may be used and was not
};

}  // namespace headrace::inline v1::monitor::detail
