#include <headrace/apps/train/training_memory.h>

#include <algorithm>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void add_training_memory(monitor::MemoryForecast& forecast, const TrainedNetwork& network) {
  const auto sample = static_cast<std::uint64_t>(network.values) * sizeof(float);
  const auto batch = static_cast<std::uint64_t>(network.batch);
  const auto evaluated = static_cast<std::uint64_t>(network.evaluation_batch);
  const std::uint64_t weights = network.parameters * sizeof(float);
  forecast.add("weights, gradients, moments", 4 * weights,
               fmt::format("4 x {} floats", network.parameters));
  forecast.add("copies for checkpoints", 8 * weights, "snapshot, file in memory, read back");
  forecast.add("activations",
               std::max(batch * sample * network.training_floats,
                        evaluated * sample * network.evaluation_floats),
               fmt::format("{} {} and their gradients", batch, network.samples));
  forecast.add("LibTorch", 192ULL << 20, "its pools, caches and threads");
}

void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader) {
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    if (item.bytes > 0 && item.name != "source") forecast.add(name + ": " + item.name, item.bytes);
  }
}

}  // namespace headrace::inline v1::app
