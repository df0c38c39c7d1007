#include <headrace/apps/jobs/glaucoma/training_memory.h>

#include <headrace/apps/train/training_memory.h>

namespace headrace::inline v1::app {

void add_glaucoma_training_memory(monitor::MemoryForecast& forecast,
                                  const GlaucomaTraining& training, std::int64_t pixels) {
  // Floats a pixel. Saved: the layer table of the network, each output that the backward pass needs
  // once; on top gradients and working memory of the widest layers.
  constexpr std::uint64_t saved = 231;
  constexpr std::uint64_t backward = 160;
  // Input and output of the widest layer, with the picture itself and oneDNN's scratch.
  constexpr std::uint64_t evaluation = 160;
  add_training_memory(forecast, {.parameters = 1'300'037,
                                 .values = pixels,
                                 .training_floats = saved + backward,
                                 .evaluation_floats = evaluation,
                                 .batch = training.batch,
                                 .evaluation_batch = training.evaluation_batch,
                                 .samples = "samples"});
}

}  // namespace headrace::inline v1::app
