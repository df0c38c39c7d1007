#include <headrace/apps/train/training_memory.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {

void add_training_memory(monitor::MemoryForecast& forecast, std::uint64_t parameters,
                         std::uint64_t step_bytes) {
  const std::uint64_t weights = parameters * sizeof(float);
  forecast.add("weights, gradients, moments", 4 * weights,
               fmt::format("4 x {} floats", parameters));
  forecast.add("copies for checkpoints", 8 * weights, "snapshot, file in memory, read back");
  if (step_bytes > 0) forecast.add("activations", step_bytes, "of a batch, and their gradients");
  forecast.add("LibTorch", 192ULL << 20, "its pools, caches and threads");
}

void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader) {
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    if (item.bytes > 0 && item.name != "source") forecast.add(name + ": " + item.name, item.bytes);
  }
}

}  // namespace headrace::inline v1::app
