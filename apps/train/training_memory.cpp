#include <headrace/apps/train/training_memory.h>

#include <algorithm>
#include <string>

namespace headrace::inline v1::app {
namespace {

constexpr std::uint64_t parameters = 1'300'037;

// Floats a pixel: the layer table of the network, each output that the backward pass needs once.
constexpr std::uint64_t saved_floats = 231;
// Gradients and working memory of the widest layers on top of the saved ones.
constexpr std::uint64_t backward_floats = 160;
// Input and output of the widest layer, with the picture itself and oneDNN's scratch.
constexpr std::uint64_t evaluation_floats = 160;

}  // namespace

void add_training_memory(monitor::MemoryForecast& forecast, const GlaucomaTraining& training,
                         std::int64_t pixels) {
  const auto picture = static_cast<std::uint64_t>(pixels) * sizeof(float);
  const auto batch = static_cast<std::uint64_t>(training.batch);
  const auto evaluated = static_cast<std::uint64_t>(training.evaluation_batch);
  constexpr std::uint64_t weights = parameters * sizeof(float);
  forecast.add("weights, gradients, moments", 4 * weights, "4 x 1,300,037 floats");
  forecast.add("copies for checkpoints", 8 * weights, "snapshot, file in memory, read back");
  forecast.add("activations",
               std::max(batch * picture * (saved_floats + backward_floats),
                        evaluated * picture * evaluation_floats),
               std::to_string(batch) + " samples and their gradients");
  forecast.add("LibTorch", 192ULL << 20, "its pools, caches and threads");
}

void add_leak_training_memory(monitor::MemoryForecast& forecast, const LeakTraining& training,
                              std::int64_t cells) {
  constexpr std::uint64_t leak_parameters = 617'987;
  // Floats a cell. Saved: the outputs of three convolutions (32, 64, 64), the pooled ones (32, 32)
  // with places of eight bytes (64, 64), the input; on top the gradients of the widest layers.
  constexpr std::uint64_t leak_saved = 370;
  constexpr std::uint64_t leak_backward = 200;
  constexpr std::uint64_t leak_evaluation = 220;
  const auto segment = static_cast<std::uint64_t>(cells) * sizeof(float);
  const auto batch = static_cast<std::uint64_t>(training.batch);
  const auto evaluated = static_cast<std::uint64_t>(training.evaluation_batch);
  constexpr std::uint64_t weights = leak_parameters * sizeof(float);
  forecast.add("weights, gradients, moments", 4 * weights, "4 x 617,987 floats");
  forecast.add("copies for checkpoints", 8 * weights, "snapshot, file in memory, read back");
  forecast.add("activations",
               std::max(batch * segment * (leak_saved + leak_backward),
                        evaluated * segment * leak_evaluation),
               std::to_string(batch) + " segments and their gradients");
  forecast.add("LibTorch", 192ULL << 20, "its pools, caches and threads");
}

void add_loader_memory(monitor::MemoryForecast& forecast, const std::string& name,
                       const Loader& loader) {
  for (const MemoryForecast::Item& item : loader.forecast().items) {
    if (item.bytes > 0 && item.name != "source") forecast.add(name + ": " + item.name, item.bytes);
  }
}

}  // namespace headrace::inline v1::app
