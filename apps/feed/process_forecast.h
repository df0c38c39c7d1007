#pragma once

#include <headrace/monitor/memory/memory_forecast.h>

namespace headrace::inline v1::app {

/// The memory that the process holds before a run, and the stacks of the threads it will start, to
/// be added to a forecast. Under an RLIMIT_DATA what counts is address space, not pages.
void add_process(monitor::MemoryForecast& forecast, int new_threads);

}  // namespace headrace::inline v1::app
