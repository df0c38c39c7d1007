#include <headrace/apps/feed/cache_settings.h>
#include <headrace/apps/memory/memory_owners.h>
#include <headrace/apps/train/memory_relief.h>
#include <headrace/monitor/memory/process_memory.h>

#include <algorithm>

namespace headrace::inline v1::app {
namespace {

std::uint64_t evict(std::uint64_t bytes) {
  std::uint64_t gone = 0;
  for (const DecodedCache& cache : caches_in_use()) {
    if (gone >= bytes) break;
    const std::uint64_t kept = cache.stats().bytes;
    gone += cache.shrink(kept - std::min(kept, bytes - gone));
  }
  return gone;
}

HeldNow held_now(const TrainingRun& run) {
  HeldNow now{.process = monitor::read_process_memory().held(),
              .tensors = run.tensor_bytes(),
              .loaders = run.runtime().holdings()};
  for (const DecodedCache& cache : caches_in_use())
    if (!cache.on_disk()) now.caches += cache.stats().bytes;
  return now;
}

}  // namespace

MemoryRelief memory_relief(const MemoryPlan& plan, const TrainingRun& run) {
  return {
      .evict = evict,
      .set_share = [runtime = run.runtime()](double share) mutable { runtime.set_share(share); },
      .set_paused = [runtime = run.runtime()](bool paused) mutable { runtime.set_paused(paused); },
      .account = [&plan, &run] { return to_text(memory_owners(plan, held_now(run))); }};
}

}  // namespace headrace::inline v1::app
