#pragma once

#include <headrace/engine/stats/trace.h>

#include <cstddef>
#include <mutex>
#include <vector>

namespace headrace::inline v1::detail {

/// A loader, as a trace of its runtime sees it. Called under the list's lock, on any thread.
class TracedLoader {
 public:
  /// A window begins, with rings of so many events. Throws where there is no memory for them.
  virtual void begin_trace(std::size_t events) = 0;
  virtual void end_trace() noexcept = 0;
  /// The window so far.
  virtual Trace read_trace() const = 0;

 protected:
  ~TracedLoader() = default;
};

/// The loaders at work on a runtime, and whether they are traced. Its lock is taken before a
/// loader's.
class TracedLoaders {
 public:
  /// Traced at once while a trace is on; one that finds no memory for that is not.
  void add(TracedLoader& loader);
  /// What it has recorded stays.
  void remove(TracedLoader& loader) noexcept;

  /// Throws ConfigError while a trace is on, and what rings throw: then none is.
  void start(std::size_t events);
  std::vector<Trace> read() const;
  void stop() noexcept;

 private:
  /// Of loaders that have ended in a window; those of more are lost.
  static constexpr std::size_t most_ended = 64;

  mutable std::mutex mutex_;
  std::vector<TracedLoader*> loaders_;
  std::size_t events_ = 0;  ///< 0: no trace is on
  std::vector<Trace> ended_;
};

}  // namespace headrace::inline v1::detail
