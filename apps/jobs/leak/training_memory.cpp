#include <headrace/apps/jobs/leak/training_memory.h>

#include <headrace/apps/train/training_memory.h>

namespace headrace::inline v1::app {

void add_leak_training_memory(monitor::MemoryForecast& forecast, const LeakTraining& training,
                              std::int64_t cells) {
  // Floats a cell. Saved: the outputs of three convolutions (32, 64, 64), the pooled ones (32, 32)
  // with places of eight bytes (64, 64), the input; on top the gradients of the widest layers.
  constexpr std::uint64_t saved = 370;
  constexpr std::uint64_t backward = 200;
  constexpr std::uint64_t evaluation = 220;
  add_training_memory(forecast, {.parameters = 617'987,
                                 .values = cells,
                                 .training_floats = saved + backward,
                                 .evaluation_floats = evaluation,
                                 .batch = training.batch,
                                 .evaluation_batch = training.evaluation_batch,
                                 .samples = "segments"});
}

}  // namespace headrace::inline v1::app
