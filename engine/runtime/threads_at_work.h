#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/runtime/runtime.h>
#include <headrace/engine/runtime/watchdog.h>

#include <vector>

namespace headrace::inline v1 {

/// The threads of the runtime's loaders that are in a stage at this moment, and on which sample;
/// asks the sources what these are called. Any thread.
HEADRACE_API std::vector<HangReport::InStage> threads_at_work(const Runtime& runtime);

}  // namespace headrace::inline v1
