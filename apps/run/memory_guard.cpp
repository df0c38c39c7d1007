#include <headrace/apps/run/memory_guard.h>
#include <headrace/monitor/format.h>

#include <utility>

#include <fmt/format.h>

#include <malloc.h>

namespace headrace::inline v1::app {
namespace {

using monitor::format_bytes;
using monitor::MemoryStep;
using monitor::MemoryUse;
using Clock = monitor::MemoryLadder::Clock;

// Between two looks at a cgroup whose limit is far.
constexpr std::chrono::seconds cgroup_period{2};
constexpr double near_limit = 0.8;

monitor::MemoryLimit cgroup_beside(const monitor::MemoryLimit& limit) {
  const monitor::HostMemory host = monitor::read_host_memory();
  if (!host.cgroup_limit || limit.source.ends_with(host.cgroup_file)) return {};
  return {*host.cgroup_limit, "cgroup " + host.cgroup_file};
}

}  // namespace

MemoryGuard::MemoryGuard(const monitor::MemoryLimit& limit, StopSignals& signals,
                         std::function<void(const std::string&)> say, MemoryRelief relief)
    : limit_(limit),
      cgroup_(cgroup_beside(limit)),
      signals_(signals),
      say_(std::move(say)),
      relief_(std::move(relief)),
      watch_({.limit = limit.bytes,
              .period = std::chrono::milliseconds(200),
              .driver_locked = {},
              .on_look = [this](const monitor::ProcessMemory& memory) { look(memory); }},
             {}) {}

void MemoryGuard::look(const monitor::ProcessMemory& memory) {
  if (over_) return;
  const Clock::time_point now = Clock::now();
  const MemoryUse use = tightest_use(memory, now);
  if (const auto step = ladder_.see(use.share(), now)) take(*step, use);
}

MemoryUse MemoryGuard::tightest_use(const monitor::ProcessMemory& memory, Clock::time_point now) {
  const MemoryUse own = memory_use(limit_, memory);
  if (cgroup_.bytes == 0) return own;
  if (now - cgroup_seen_ >= cgroup_period || cgroup_use_.share() > near_limit) {
    cgroup_use_ = memory_use(cgroup_, memory);
    cgroup_seen_ = now;
  }
  return cgroup_use_.share() > own.share() ? cgroup_use_ : own;
}

void MemoryGuard::take(MemoryStep step, const MemoryUse& use) {
  const std::string done = give_up(step, use);
  if (done.empty()) return;
  say_(fmt::format("[memory] {} of {} are held ({}): {}", format_bytes(use.bytes),
                   format_bytes(use.limit.bytes), use.limit.source, done));
  if (step != MemoryStep::stop) return;
  over_ = true;
  signals_.request();
}

// Says what was done; nothing where it cannot be.
std::string MemoryGuard::give_up(MemoryStep step, const MemoryUse& use) {
  constexpr double half = 0.5;
  const auto share = [this](double of, const char* text) -> std::string {
    if (!relief_.set_share) return {};
    relief_.set_share(of);
    return text;
  };
  switch (step) {
    case MemoryStep::evict:
      return evict(use);
    case MemoryStep::lower:
      return share(half, "loaders use half of their memory from now on");
    case MemoryStep::trim:
      ::malloc_trim(0);
      return "free parts of the heap went back to the system";
    case MemoryStep::pause:
      if (relief_.set_paused) relief_.set_paused(true);
      return share(0.0, "loaders begin no batch for now, then one at a time");
    case MemoryStep::resume:
      if (relief_.set_paused) relief_.set_paused(false);
      return {};
    case MemoryStep::restore:
      return share(1.0, "loaders use all of their memory again");
    case MemoryStep::stop:
      return "nothing more can be given up, the run is saved and ends" +
             (relief_.account ? "\n" + relief_.account() : std::string());
  }
  return {};
}

std::string MemoryGuard::evict(const MemoryUse& use) {
  if (!relief_.evict) return {};
  const auto low =
      static_cast<std::uint64_t>(ladder_.options().low * static_cast<double>(use.limit.bytes));
  const std::uint64_t gone = relief_.evict(use.bytes > low ? use.bytes - low : 0);
  if (gone == 0) return {};
  ::malloc_trim(0);
  return "caches let go of " + format_bytes(gone);
}

}  // namespace headrace::inline v1::app
