#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace headrace::inline v1 {

/// The nice values of work beside training: that of what nobody waits for, and of what a step may
/// have to wait for, which must not starve where other threads take every core.
inline constexpr int lowest_priority = 19;
inline constexpr int lower_priority = 5;

/// Gives the calling thread alone a priority (Linux keeps a nice value for each): where training
/// takes every core, work beside it that kept its own would take one from the steps.
inline void give_way(int nice = lowest_priority) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), nice);
}

}  // namespace headrace::inline v1
