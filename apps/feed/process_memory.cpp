#include <headrace/apps/feed/process_memory.h>
#include <headrace/monitor/process_memory.h>

#include <cstdint>
#include <string>

#include <sys/resource.h>

namespace headrace::inline v1::app {
namespace {

bool data_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

std::uint64_t stack_bytes() {
  rlimit limit{};
  constexpr std::uint64_t usual = 8ULL << 20;
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return usual;
  return limit.rlim_cur;
}

}  // namespace

void add_process(monitor::MemoryForecast& forecast, int new_threads) {
  const auto threads = static_cast<std::uint64_t>(new_threads);
  const monitor::ProcessMemory memory = monitor::read_process_memory();
  if (data_is_limited()) {
    forecast.add("process as it is", memory.data_segment, "address space");
    forecast.add("stacks", threads * stack_bytes(), std::to_string(new_threads) + " threads");
    return;
  }
  constexpr std::uint64_t touched = 512ULL << 10;  // of a stack, and the thread's own heap
  forecast.add("process as it is", memory.held());
  forecast.add("stacks", threads * touched, std::to_string(new_threads) + " threads");
  forecast.add("small things", 8ULL << 20, "queues, statistics, lists");
}

}  // namespace headrace::inline v1::app
