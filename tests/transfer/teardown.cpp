// A loader that dies with the process must not call CUDA any more: the stand-in would end the
// process with status 3. With the argument `teardown_under_copies` slabs are still being copied
// then, and their memory must outlive the loader.
#include <headrace/engine/device/internal/kernel.h>
#include <headrace/engine/runtime/threads_at_work.h>
#include <headrace/tests/engine/test_sources.h>

#include "cuda_stand_in.h"
#include "stand_in_module.h"

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using namespace headrace;

struct FirstToGo {
  ~FirstToGo() { test::device::forbid_calls(); }
};

/// Launches a kernel, as a step does that is still at work, which must not come to be; and waits
/// for the copies that nobody waited for.
struct LastToGo {
  ~LastToGo() {
    detail::launch({.who = "teardown", .function = "headrace_teardown"}, nullptr, Device::cuda(0),
                   {});
    while (test::device::calls().copies_done < test::device::calls().copies)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
};

/// What is prepared ahead is done: from here on only destructors run. There are three slots.
void settle(const Runtime& runtime) {
  while (test::device::calls().copies < 3 || !threads_at_work(runtime).empty())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  for (std::int64_t before = -1; before != test::device::calls().copies;) {
    before = test::device::calls().copies;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool under_copies = count > 1 && std::string(arguments[1]) == "teardown_under_copies";
  test::device::provide_kernel("headrace_teardown", [](const void*, void*) {
    std::_Exit(3);
    return 0;
  });
  static const LastToGo last_to_go;
  static Batch held;
  if (under_copies) test::device::reset({.copy_delay_us = 0, .copy_least_us = 3'000'000});
  const Runtime runtime({.threads = 2});
  static Loader loader = test::work_on(test::table({.records = 40}), true)
                             .batch({.size = 8})
                             .to(Device::cuda(0))
                             .build({.runtime = runtime});
  held = loader.next().batch;
  settle(runtime);
  if (under_copies && test::device::calls().copies_done == test::device::calls().copies) return 4;
  static const FirstToGo first_to_go;
}
