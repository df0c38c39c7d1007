#include <headrace/apps/memory/memory_phases.h>

#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

void add_cells(MetricRow& row, const std::string& before, const monitor::PhaseMemory& memory) {
  const auto add = [&](const char* name, std::uint64_t value) {
    row.emplace_back(before + name, static_cast<std::int64_t>(value));
  };
  add("tensors_bytes", memory.allocated);
  add("tensors_peak_bytes", memory.peak);
  if (memory.on_gpu) {
    add("reserved_bytes", memory.reserved);
    add("reserved_peak_bytes", memory.peak_reserved);
    add("inactive_split_bytes", memory.inactive_split);
    add("alloc_retries", static_cast<std::uint64_t>(memory.retries));
  }
  add("process_bytes", memory.process.held());
}

}  // namespace

const char* name_of(RunPhase phase) {
  switch (phase) {
    case RunPhase::training:
      return "training";
    case RunPhase::evaluation:
      return "evaluation";
    case RunPhase::end_of_stage:
      return "end of stage";
    case RunPhase::test:
      return "test";
  }
  return "";
}

bool is_of_epoch(RunPhase phase) {
  return phase == RunPhase::training || phase == RunPhase::evaluation;
}

std::string phase_line(const PhaseFacts& facts) {
  const std::string epoch =
      is_of_epoch(facts.phase) ? fmt::format(", epoch {}", facts.epoch + 1) : std::string();
  return fmt::format("memory of {}{}: {}", name_of(facts.phase), epoch, facts.memory.sentence());
}

std::vector<monitor::MemoryRemark> MemoryPhases::add(const PhaseFacts& facts, std::int64_t epochs) {
  if (is_of_epoch(facts.phase))
    add_cells(epoch_, std::string(name_of(facts.phase)) + '_', facts.memory);
  if (facts.phase != RunPhase::training) return judge_.after(facts.memory, facts.limits);
  return judge_.after_training(facts.epoch + 1, epochs, facts.memory, facts.limits);
}

MetricRow MemoryPhases::take_epoch() {
  return std::exchange(epoch_, {});
}

MetricRow MemoryPhases::row(const PhaseFacts& facts) {
  if (is_of_epoch(facts.phase)) return {};
  MetricRow row{{"phase", name_of(facts.phase)}};
  add_cells(row, "", facts.memory);
  return row;
}

}  // namespace headrace::inline v1::app
