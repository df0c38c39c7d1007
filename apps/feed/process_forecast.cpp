#include <headrace/apps/feed/process_forecast.h>
#include <headrace/monitor/memory/process_memory.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

void add_process(monitor::MemoryForecast& forecast, int new_threads) {
  const auto threads = static_cast<std::uint64_t>(new_threads);
  const monitor::ProcessMemory memory = monitor::read_process_memory();
  if (monitor::data_limit()) {
    forecast.add("process as it is", memory.data_segment, "address space");
    forecast.add("stacks", threads * monitor::stack_bytes(),
                 std::to_string(new_threads) + " threads");
    return;
  }
  constexpr std::uint64_t touched = 512ULL << 10;  // of a stack, and the thread's own heap
  forecast.add("process as it is", memory.held());
  forecast.add("stacks", threads * touched, std::to_string(new_threads) + " threads");
  forecast.add("small things", 8ULL << 20, "queues, statistics, lists");
}

}  // namespace headrace::inline v1::app
