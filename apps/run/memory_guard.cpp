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

// Between two looks at a limit that is far.
constexpr std::chrono::seconds far_period{2};
constexpr double near_limit = 0.8;

}  // namespace

MemoryGuard::MemoryGuard(const monitor::MemoryLimit& limit, StopSignals& signals,
                         std::function<void(const std::string&)> say, MemoryRelief relief)
    : limits_(watched_limits(limit)),
      signals_(signals),
      say_(std::move(say)),
      relief_(std::move(relief)),
      watch_({.period = std::chrono::milliseconds(200),
              .driver_locked = {},
              .on_look = [this](const monitor::ProcessMemory& memory) { look(memory); }}) {}

std::vector<MemoryGuard::Watched> MemoryGuard::watched_limits(const monitor::MemoryLimit& own) {
  std::vector<Watched> limits{{.limit = own}};
  for (const monitor::MemoryLimit& of_kernel : monitor::kernel_memory_limits())
    if (of_kernel.source != own.source) limits.push_back({.limit = of_kernel});
  return limits;
}

void MemoryGuard::look(const monitor::ProcessMemory& memory) {
  if (over_) return;
  const Clock::time_point now = Clock::now();
  const MemoryUse use = tightest_use(memory, now);
  if (const auto step = ladder_.see(use.share(), now)) take(*step, use);
}

MemoryUse MemoryGuard::tightest_use(const monitor::ProcessMemory& memory, Clock::time_point now) {
  MemoryUse tightest;
  for (Watched& watched : limits_) {
    const bool of_process = &watched == &limits_.front();
    if (of_process || now - watched.seen >= far_period || watched.use.share() > near_limit) {
      watched.use = memory_use(watched.limit, memory);
      watched.seen = now;
    }
    if (watched.use.share() > tightest.share()) tightest = watched.use;
  }
  return tightest;
}

void MemoryGuard::take(MemoryStep step, const MemoryUse& use) {
  if (step == MemoryStep::stop) return end_run(use);
  const std::string done = give_up(step, use);
  if (!done.empty()) tell(use, done);
}

// Whatever comes of the words, for which there may be no memory: the run ends. It may need batches
// to end a step.
void MemoryGuard::end_run(const MemoryUse& use) {
  over_ = true;
  try {
    tell(use, "nothing more can be given up, the run is saved and ends" +
                  (relief_.account ? "\n" + relief_.account() : std::string()));
  } catch (const std::exception&) {
    // Its lines are lost, and nothing else.
  }
  signals_.request();
  if (relief_.set_paused) relief_.set_paused(false);
}

void MemoryGuard::tell(const MemoryUse& use, const std::string& done) const {
  say_(fmt::format("[memory] {} of {} are held ({}): {}", format_bytes(use.bytes),
                   format_bytes(use.limit.bytes), use.limit.source, done));
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
      break;
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
