#include <headrace/apps/job/stage_torch.h>
#include <headrace/apps/task/task_settings.h>

#include <string>
#include <utility>
#include <variant>

namespace headrace::inline v1::app {

c10::Device torch_device(Device device) {
  if (!device.is_cuda()) return c10::Device(c10::DeviceType::CPU);
  return c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device.index));
}

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
          .keep_moments = training.keep_moments,
          .unfreeze = training.unfreeze,
          .early_stopping = training::EarlyStoppingOptions{.patience = training.early_stopping,
                                                           .min_delta = training.min_delta,
                                                           .enough = training.stop_at},
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

void check_plateaus(const JobConfig& config, const training::Course& course) {
  if (!config.plateau_figures().empty()) return;  // its check() has looked
  for (const training::Stage& stage : course.stages()) {
    const auto* plateau = std::get_if<training::PlateauOptions>(&stage.schedule);
    if (plateau == nullptr || plateau->figure.starts_with("loss_")) continue;
    std::vector<std::string> known{"loss", course.selected_by().figure};
    if (const auto metric = course.metric(training::Split::validation, {}))
      for (const auto& [name, value] : metric->result())
        if (name != known[1]) known.push_back(name);
    check_figure("training.schedule.plateau.figure", plateau->figure, known);
  }
}

}  // namespace headrace::inline v1::app
