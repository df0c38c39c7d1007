#pragma once

#include <cstddef>
#include <cstdint>

#include <hwy/targets.h>

namespace headrace::inline v1::detail {

/// Entry of a dispatch table for the `target`-th of the compiled vector targets that this processor
/// offers, or -1 past the last; the process's own choice stays as it is.
inline std::ptrdiff_t vector_target(int target) {
  std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS;
  for (; target > 0 && left != 0; --target)
    left &= left - 1;
  if (left == 0) return -1;
  hwy::ChosenTarget chosen;
  chosen.Update(left & -left);
  return static_cast<std::ptrdiff_t>(chosen.GetIndex());
}

}  // namespace headrace::inline v1::detail

/// Runs a kernel on the `target` of the function it stands in, below 0 the process's own choice;
/// the function returns {} where there is no such target. A macro, for Highway's name the kernel's
/// table.
#define HEADRACE_RUN(kernel, ...)                       \
  if (target < 0) {                                     \
    HWY_DYNAMIC_DISPATCH(kernel)(__VA_ARGS__);          \
  } else {                                              \
    const std::ptrdiff_t entry = vector_target(target); \
    if (entry < 0) return {};                           \
    HWY_DISPATCH_TABLE(kernel)[entry](__VA_ARGS__);     \
  }
