#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// What training is reckoned to hold on a CPU, beside data and loaders: weights with their
/// gradients and moments, what a step takes, copies for checkpoints, and what LibTorch itself
/// takes.
void add_training_memory(monitor::MemoryForecast& forecast, std::uint64_t parameters,
                         std::uint64_t step_bytes);

/// Adds what a loader will take, its source left out; `name` goes before each item.
void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader);

}  // namespace headrace::inline v1::app
