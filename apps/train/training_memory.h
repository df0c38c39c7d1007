#pragma once

#include <headrace/apps/jobs/glaucoma/config.h>
#include <headrace/apps/jobs/leak/config.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>

namespace headrace::inline v1::app {

/// What a training run of the job is reckoned to hold on a CPU, beside data and loaders: weights
/// with their gradients and moments, saved activations of a training batch (231 floats a pixel) or
/// the working set of an evaluation, copies for checkpoints, and what LibTorch itself takes.
void add_training_memory(monitor::MemoryForecast& forecast, const GlaucomaTraining& training,
                         std::int64_t pixels);

/// The same for the job leak: segments of `cells`, of which the network keeps about 370 floats
/// each.
void add_leak_training_memory(monitor::MemoryForecast& forecast, const LeakTraining& training,
                              std::int64_t cells);

/// Adds what a loader will take, its source left out; `name` goes before each item.
void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader);

}  // namespace headrace::inline v1::app
