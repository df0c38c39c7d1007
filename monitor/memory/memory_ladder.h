#pragma once

#include <headrace/engine/base/export.h>

#include <chrono>
#include <optional>

namespace headrace::inline v1::monitor {

/// Shares of a limit, and how fast the ladder is climbed.
struct MemoryLadderOptions {
  double soft = 0.95;                    ///< above it something is given up
  double hard = 1.0;                     ///< above it each look gives up more
  double low = 0.90;                     ///< below it, what was given up is taken back
  std::chrono::milliseconds rung{2000};  ///< between two steps, below `hard`
  int looks = 5;  ///< above `hard` in a row, with producers paused, after which the run must end
};

/// What is to be done about a process's memory at a look.
enum class MemoryStep : unsigned char {
  evict,    ///< caches let go of what is over `low`
  lower,    ///< loaders use half of their memory
  trim,     ///< free parts of the heap go back to the system
  pause,    ///< loaders begin no batch, and use the least that they can from then on
  resume,   ///< they begin batches again
  restore,  ///< they use all of their memory again
  stop,     ///< the run is saved and ends
};

/// Decides what a process gives up while it holds too much: each step once, one behind another as
/// long as that is not enough, the cheapest first. Knows nothing of the memory itself. Not
/// thread-safe.
class HEADRACE_API MemoryLadder {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws ConfigError unless 0 < low < soft <= hard and looks and rung are above 0.
  explicit MemoryLadder(MemoryLadderOptions options = {});

  /// At each look, with the share of the limit that is held; nothing where nothing is to be done.
  /// Behind `stop` it is silent.
  std::optional<MemoryStep> see(double share, Clock::time_point now);
  const MemoryLadderOptions& options() const { return options_; }

 private:
  enum class Rung : unsigned char { none, evicted, lowered, trimmed, paused, stopped };

  std::optional<MemoryStep> while_paused(double share, Clock::time_point now);
  MemoryStep climb(Clock::time_point now);

  MemoryLadderOptions options_;
  Rung rung_ = Rung::none;
  bool paused_ = false;
  int over_hard_ = 0;            // looks in a row
  Clock::duration calm_;         // below `low` before what was given up is taken back
  Clock::time_point changed_{};  // the newest step
  Clock::time_point not_low_{};  // the newest look that was not below `low`
};

}  // namespace headrace::inline v1::monitor
