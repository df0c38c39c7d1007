#pragma once

#include <headrace/engine/headrace.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace headrace::test {

/// A door that stays shut until somebody opens it.
class Door {
 public:
  void pass() {
    ++waiting_;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }
  int waiting() const { return waiting_; }
  void open() {
    {
      std::lock_guard lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> waiting_{0};
  bool open_ = false;
};

/// What a watchdog has said.
class Reports {
 public:
  WatchdogOptions after(std::chrono::nanoseconds span) {
    return {.after = span, .action = [this](const HangReport& report) {
              std::lock_guard lock(mutex_);
              reports_.push_back(report);
            }};
  }
  std::vector<HangReport> all() const {
    std::lock_guard lock(mutex_);
    return reports_;
  }
  void forget() {
    std::lock_guard lock(mutex_);
    reports_.clear();
  }
  /// Whether one has the record at its head.
  bool name(std::int64_t index) const {
    const std::vector<HangReport> said = all();
    return std::ranges::any_of(said, [index](const HangReport& report) {
      return !report.stages.empty() && report.stages.front().sample.index == index;
    });
  }

 private:
  mutable std::mutex mutex_;
  std::vector<HangReport> reports_;
};

}  // namespace headrace::test
