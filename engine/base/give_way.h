#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace headrace::inline v1 {

/// Gives the calling thread alone the lowest priority (Linux keeps a nice value for each): where
/// training takes every core, work beside it that kept its own would take one from the steps.
inline void give_way() {
  constexpr int lowest_priority = 19;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), lowest_priority);
}

}  // namespace headrace::inline v1
