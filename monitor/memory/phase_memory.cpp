#include <headrace/monitor/format.h>
#include <headrace/monitor/memory/phase_memory.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::monitor {

std::uint64_t PhaseMemory::beside_tensors() const {
  const std::uint64_t held = process.held();
  return on_gpu ? held : held - std::min(held, allocated);
}

std::uint64_t PhaseMemory::process_peak() const {
  return on_gpu ? process.held() : beside_tensors() + peak;
}

std::string PhaseMemory::sentence() const {
  std::string text =
      fmt::format("tensors {}, peak {}", format_bytes(allocated), format_bytes(peak));
  if (on_gpu)
    text += fmt::format(", reserved {}, in pieces {}, retries {}", format_bytes(reserved),
                        format_bytes(inactive_split), retries);
  return text + "; process " + format_bytes(process.held());
}

}  // namespace headrace::inline v1::monitor
