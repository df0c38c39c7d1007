#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/runtime/runtime.h>

namespace headrace::inline v1::app {

/// How the loaders' runtimes of this program count what a thread holds of the heap; null, which it
/// is at first: not at all. To be set before the first runtime is made: `count_heap.h` does.
HEADRACE_API void set_heap_meter(HeapMeter meter) noexcept;
HEADRACE_API HeapMeter heap_meter() noexcept;

}  // namespace headrace::inline v1::app
