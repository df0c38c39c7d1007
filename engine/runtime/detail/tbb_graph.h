#pragma once

// The one place that includes TBB's flow graph.
#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

namespace headrace::inline v1::detail {

/// TBB makes a task for every message and throws where there is no memory for its few hundred
/// bytes. A permit must not be lost, so this waits until there is. Returns whether it had to.
template <class Put>
bool insist(Put put) noexcept {
  constexpr std::chrono::milliseconds longest(100);
  for (std::chrono::milliseconds pause(0);;
       pause = std::min(2 * pause + std::chrono::milliseconds(1), longest)) {
    try {
      put();
      return pause.count() > 0;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(pause);
    }
  }
}

/// What TBB keeps for a thread is made while nothing hangs on it.
inline void introduce_thread() {
  static thread_local bool known = false;
  if (!known) tbb::this_task_arena::isolate([] {});
  known = true;
}

}  // namespace headrace::inline v1::detail
