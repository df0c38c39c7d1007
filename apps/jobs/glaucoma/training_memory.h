#pragma once

#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What a training run on a CPU is reckoned to hold beside data and loaders, for pictures of
/// `pixels`.
void add_glaucoma_training_memory(monitor::MemoryForecast& forecast,
                                  const GlaucomaTraining& training, std::int64_t pixels);

}  // namespace headrace::inline v1::app
