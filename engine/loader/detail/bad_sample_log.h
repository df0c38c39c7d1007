#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/base/log.h>
#include <headrace/engine/plan/pipeline.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <limits>
#include <span>
#include <string>

namespace headrace::inline v1::detail {

/// Counts bad samples against their budgets and writes one JSON line for each, or without a file
/// for it tells `log`, batch by batch as they are delivered: what was read ahead and never asked
/// for does not count, so that the count depends on the place in the epoch alone.
class BadSampleLog {
 public:
  BadSampleLog(BadSamples rule, std::string loader, LogCallback log)
      : rule_(std::move(rule)), loader_(std::move(loader)), log_(std::move(log)) {}

  struct Case {
    std::string stage;
    Origin origin;
    std::string cause;
    std::int64_t replacement = -1;  ///< index of the record tried instead, or -1
  };

  /// Where a budget is used up.
  struct Verdict {
    std::int64_t row = std::numeric_limits<std::int64_t>::max();  ///< of the case that was too many
    std::string text{};  ///< why the run must end; empty while the budgets hold
  };

  /// Writes down the cases of a batch that is being delivered, by row. `in_pass` counts those of
  /// the pass over the epoch, to which the share of `epoch_samples` refers. For one thread at a
  /// time.
  Verdict add(std::span<const Case> cases, std::int64_t& in_pass, std::int64_t epoch_samples);
  /// Cases so far; any thread.
  std::int64_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  void tell(const Case& bad) const;
  void write(const Case& bad);
  std::string judge(const Case& bad, std::int64_t in_pass, std::int64_t epoch_samples) const;

  BadSamples rule_;
  std::string loader_;
  LogCallback log_;
  std::atomic<std::int64_t> count_{0};
  std::ofstream file_;
};

}  // namespace headrace::inline v1::detail
