#pragma once

#include <headrace/engine/loader/loader.h>
#include <headrace/monitor/memory_forecast.h>

#include <cstdint>
#include <string>

namespace headrace::inline v1::app {

/// A network in training on a CPU, as far as its memory goes. Floats of a value are counted for
/// each number of a sample's input (a pixel, a cell).
struct TrainedNetwork {
  std::uint64_t parameters = 0;
  std::int64_t values = 0;              ///< Of the input of a sample.
  std::uint64_t training_floats = 0;    ///< Saved for the backward pass, and its own, of a value.
  std::uint64_t evaluation_floats = 0;  ///< The widest layer's input and output, of a value.
  std::int64_t batch = 0;
  std::int64_t evaluation_batch = 0;
  std::string samples{};  ///< What a sample is called: "segments".
};

/// What a training run is reckoned to hold on a CPU, beside data and loaders: weights with their
/// gradients and moments, saved activations of a training batch or the working set of an
/// evaluation, copies for checkpoints, and what LibTorch itself takes.
void add_training_memory(monitor::MemoryForecast& forecast, const TrainedNetwork& network);

/// Adds what a loader will take, its source left out; `name` goes before each item.
void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader);

}  // namespace headrace::inline v1::app
