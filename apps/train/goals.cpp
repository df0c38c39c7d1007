#include <headrace/apps/train/goals.h>
#include <headrace/monitor/format.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

std::string line(const char* goal, const char* verb, const Bytes& most, std::uint64_t came) {
  return fmt::format("goal {}: at most {}, {} {}: {}\n", goal, monitor::format_bytes(most.value),
                     verb, monitor::format_bytes(came), came <= most.value ? "pass" : "FAIL");
}

}  // namespace

std::string goals_text(const MemoryGoals& goals, const MemoryPeaks& peaks) {
  std::string text;
  if (goals.ram) text += line("ram", "held", *goals.ram, peaks.ram);
  if (!goals.gpu_memory) return text;
  if (peaks.gpu_memory)
    return text + line("gpu_memory", "reserved", *goals.gpu_memory, *peaks.gpu_memory);
  return text + "goal gpu_memory: no GPU was used, not judged\n";
}

}  // namespace headrace::inline v1::app
