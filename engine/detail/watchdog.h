#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <headrace/engine/detail/plan.h>
#include <headrace/engine/detail/recorder.h>
#include <headrace/engine/watchdog.h>

namespace headrace::inline v1::detail {

/// The loaders at work on a runtime, for its watchdogs.
class WatchList {
 public:
  struct Entry {
    const Plan* plan = nullptr;
    const Recorder* recorder = nullptr;
  };

  void add(const Entry& entry);
  void remove(const Recorder* recorder) noexcept;

  /// Everything that the stages of all loaders have finished, in no unit.
  std::int64_t moves() const;
  /// Whether a thread is in a stage of that loader.
  bool busy(const Recorder& recorder) const;
  /// Threads that are in a stage. Asks the loaders' sources what their samples are called, without
  /// holding a lock.
  std::vector<HangReport::InStage> stages() const;

 private:
  /// Without the samples' names; `sources` gets the source of each.
  std::vector<HangReport::InStage> stages_of_all(
      std::vector<std::shared_ptr<const Source>>& sources) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Looks at one loader from a thread of its own.
class Watchdog {
 public:
  /// `waits` says whether somebody waits for the loader; any thread may call it at any time.
  Watchdog(const Plan& plan, const Recorder& recorder, const WatchList& list,
           std::function<bool()> waits);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void live();
  void look(std::chrono::nanoseconds passed);
  void report();

  const Plan& plan_;
  const Recorder& recorder_;
  const WatchList& list_;
  std::function<bool()> waits_;
  std::chrono::nanoseconds period_;
  std::int64_t moves_ = 0;
  std::chrono::nanoseconds still_{0};
  bool told_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headrace::inline v1::detail
