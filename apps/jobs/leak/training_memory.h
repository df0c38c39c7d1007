#pragma once

#include <headrace/apps/jobs/leak/config.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What a training run on a CPU is reckoned to hold beside data and loaders, for segments of
/// `cells`.
void add_leak_training_memory(monitor::MemoryForecast& forecast, const LeakTraining& training,
                              std::int64_t cells);

}  // namespace headrace::inline v1::app
