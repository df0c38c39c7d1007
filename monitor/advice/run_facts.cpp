#include <headrace/monitor/advice/run_facts.h>

#include <utility>

namespace headrace::inline v1::monitor {

void fill(RunFacts& facts, const LoaderStats& stats) {
  facts.load = loader_load(stats);
  facts.reorder_wait_s = stats.reorder_wait_s;
  if (stats.transfer.copies > 0) facts.page_locked = stats.transfer.page_locked;
}

void fill(RunFacts& facts, const PhaseMemory& memory) {
  if (!memory.on_gpu) return;
  facts.allocator = RunFacts::Allocator{.reserved = memory.reserved,
                                        .allocated = memory.allocated,
                                        .inactive_split = memory.inactive_split,
                                        .retries = memory.retries,
                                        .peak = memory.peak,
                                        .peak_reserved = memory.peak_reserved};
}

std::optional<RunFacts::Growth> growth_facts(const std::optional<MemoryGrowth>& growth,
                                             std::string owner) {
  if (!growth) return std::nullopt;
  return RunFacts::Growth{.slope = growth->slope.per_epoch,
                          .low = growth->slope.low,
                          .high = growth->slope.high,
                          .owner = std::move(owner),
                          .first_epoch = growth->first.epoch,
                          .last_epoch = growth->last.epoch,
                          .bytes = growth->last.bytes};
}

}  // namespace headrace::inline v1::monitor
