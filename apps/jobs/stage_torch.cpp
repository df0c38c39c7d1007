#include <headrace/apps/jobs/stage_torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headrace::inline v1::app {

training::Stage stage_of(const TrainingSettings& training) {
  return {.name = training.name,
          .epochs = training.epochs,
          .batch = training.batch,
          .evaluation_batch = training.evaluation_batch,
          .accumulation = training.accumulation,
          .optimizer = {.rule = training.optimizer,
                        .learning_rate = training.learning_rate,
                        .weight_decay = training.weight_decay,
                        .decay_vectors = training.decay_vectors},
          .groups = training.groups,
          .frozen_norms = training.frozen_norms,
          .schedule = training.schedule,
          .precision = training.precision,
          .clip_norm = training.clip,
          .ema = training.ema,
          .checkpointed = training.checkpointed,
          .start = training.start,
          .unfreeze = training.unfreeze,
          .early_stopping = training::EarlyStoppingOptions{.patience = training.early_stopping,
                                                           .min_delta = training.min_delta},
          .non_finite = training.non_finite,
          .channels_last = training.channels_last,
          .cudnn_benchmark = training.cudnn_benchmark,
          .deterministic = training.deterministic};
}

std::vector<training::Stage> stages_of(const JobConfig& config) {
  std::vector<training::Stage> stages;
  const auto add = [&](const JobConfig& one) {
    training::Stage stage = stage_of(one.training);
    stage.number = static_cast<std::int64_t>(stages.size());
    stage.frozen = one.frozen();
    stages.push_back(std::move(stage));
  };
  if (config.stages.empty()) add(config);
  for (const auto& stage : config.stages)
    add(*stage);
  return stages;
}

std::uint64_t step_memory(const training::Stage& stage, std::int64_t values,
                          std::uint64_t training_floats, std::uint64_t evaluation_floats) {
  const auto sample = static_cast<std::uint64_t>(values) * sizeof(float);
  const auto trained = static_cast<std::uint64_t>(stage.batch);
  const auto evaluated =
      static_cast<std::uint64_t>(stage.evaluation_batch > 0 ? stage.evaluation_batch : stage.batch);
  return std::max(trained * sample * training_floats, evaluated * sample * evaluation_floats);
}

std::uint64_t step_memory(const training::Stage& stage, std::int64_t pixels,
                          const models::Activations& activations) {
  return step_memory(stage, pixels, static_cast<std::uint64_t>(std::ceil(activations.training)),
                     static_cast<std::uint64_t>(std::ceil(activations.evaluation)));
}

}  // namespace headrace::inline v1::app
