#pragma once

#include <headrace/engine/runtime/watchdog.h>
#include <headrace/engine/sample/source.h>
#include <headrace/engine/stats/internal/recorder.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// As the system calls it; the crew is counted first.
std::string thread_name(int workers, int thread);

/// What a watchdog must know of a loader.
struct WatchedLoader {
  std::string name{};
  std::vector<std::string> stages{};  ///< their names, as the recorder counts them
  int workers = 0;                    ///< the crew, which the recorder counts first
  std::shared_ptr<const Source> source{};
  const Recorder* recorder = nullptr;
};

/// The loaders at work on a runtime, for its watchdogs.
class WatchList {
 public:
  void add(WatchedLoader loader);
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
  std::vector<WatchedLoader> loaders_;
};

}  // namespace headrace::inline v1::detail
