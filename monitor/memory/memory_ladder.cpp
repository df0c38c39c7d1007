#include <headrace/engine/base/error.h>
#include <headrace/monitor/memory/memory_ladder.h>

#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {
namespace {

// Rungs of calm before loaders use all of their memory again; twice as many each time it was too
// early.
constexpr int calm_rungs = 5;

}  // namespace

MemoryLadder::MemoryLadder(MemoryLadderOptions options)
    : options_(options), calm_(calm_rungs * options.rung) {
  if (!(0.0 < options.low && options.low < options.soft && options.soft <= options.hard))
    throw ConfigError(
        fmt::format("[memory ladder] shares must be 0 < low < soft <= hard, got {}, {}, {}",
                    options.low, options.soft, options.hard));
  if (options.rung.count() <= 0 || options.looks <= 0)
    throw ConfigError(fmt::format("[memory ladder] rung and looks must be above 0, got {} ms, {}",
                                  options.rung.count(), options.looks));
}

std::optional<MemoryStep> MemoryLadder::see(double share, Clock::time_point now) {
  if (rung_ == Rung::stopped) return std::nullopt;
  over_hard_ = share > options_.hard ? over_hard_ + 1 : 0;
  if (share >= options_.low) not_low_ = now;
  if (paused_) return while_paused(share, now);
  const bool due = rung_ == Rung::none || over_hard_ > 0 || now - changed_ >= options_.rung;
  // With the least that loaders can do with, a run goes on below `hard`.
  const bool more = rung_ != Rung::paused || over_hard_ > 0;
  if (share > options_.soft && due && more) return climb(now);
  if (rung_ == Rung::none || now - not_low_ < calm_ || now - changed_ < calm_) return std::nullopt;
  const bool lowered = std::exchange(rung_, Rung::none) != Rung::evicted;
  calm_ *= 2;
  return lowered ? std::optional(MemoryStep::restore) : std::nullopt;
}

std::optional<MemoryStep> MemoryLadder::while_paused(double share, Clock::time_point now) {
  if (over_hard_ >= options_.looks) {
    rung_ = Rung::stopped;
    return MemoryStep::stop;
  }
  // Nothing more comes free than what was on its way: no use in waiting longer.
  const bool done = share < options_.low || now - changed_ >= options_.rung;
  if (!done || over_hard_ > 0) return std::nullopt;
  paused_ = false;
  changed_ = now;
  return MemoryStep::resume;
}

MemoryStep MemoryLadder::climb(Clock::time_point now) {
  changed_ = now;
  switch (rung_) {
    case Rung::none:
      rung_ = Rung::evicted;
      return MemoryStep::evict;
    case Rung::evicted:
      rung_ = Rung::lowered;
      return MemoryStep::lower;
    case Rung::lowered:
      rung_ = Rung::trimmed;
      return MemoryStep::trim;
    default:
      rung_ = Rung::paused;
      paused_ = true;
      over_hard_ = 0;
      return MemoryStep::pause;
  }
}

}  // namespace headrace::inline v1::monitor
