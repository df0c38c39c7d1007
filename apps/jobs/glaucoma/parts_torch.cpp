#include <headrace/apps/jobs/glaucoma/parts_torch.h>

#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/run/abort_on_hang.h>
#include <headrace/models/cross_entropy.h>
#include <headrace/models/focal_loss.h>

#include <utility>

namespace headrace::inline v1::app {
namespace {

std::vector<std::int64_t> pick(const std::vector<std::int64_t>& rows,
                               const std::vector<std::int64_t>& places) {
  std::vector<std::int64_t> picked;
  picked.reserve(places.size());
  for (const std::int64_t place : places)
    picked.push_back(rows[static_cast<std::size_t>(place)]);
  return picked;
}

}  // namespace

GlaucomaLoaders build_glaucoma_loaders(const GlaucomaRecords& records, const GlaucomaRows& rows,
                                       const training::Fold& fold, const GlaucomaConfig& config,
                                       const ChosenDevice& device, const Runtime& runtime) {
  const LoaderOptions options{.prefetch = config.data.prefetch,
                              .watchdog = abort_on_hang(config.threads.watchdog),
                              .runtime = runtime};
  const GlaucomaTraining& training = config.training;
  const auto evaluation = [&](std::vector<std::int64_t> indices) {
    return glaucoma_evaluation_pipeline(records.subset(std::move(indices)),
                                        training.evaluation_batch, training.channels_last,
                                        device.device)
        .build(options);
  };
  return {.train = glaucoma_training_pipeline(records.subset(pick(rows.train, fold.train)), config,
                                              device.device)
                       .build(options),
          .validation = evaluation(pick(rows.train, fold.test)),
          .test = evaluation(rows.test)};
}

std::vector<training::Fold> glaucoma_folds(const GlaucomaRows& rows, const GlaucomaConfig& config) {
  return training::stratified_kfold(
      rows.train_labels, {.folds = config.training.folds, .shuffle = true, .seed = config.seed});
}

training::Loss glaucoma_loss(const GlaucomaTraining& training) {
  // Rows that are absent weigh nothing.
  const auto weights = [](const at::Tensor& present) {
    models::ClassificationWeights result;
    if (present.defined()) result.of_samples = present.to(at::kFloat);
    return result;
  };
  const double gamma = training.gamma;
  switch (training.loss) {
    case GlaucomaLoss::focal:
      return [=](const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present) {
        return models::focal_loss(logits, target, {.gamma = gamma, .weights = weights(present)});
      };
    case GlaucomaLoss::clamped_focal:
      return [=](const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present) {
        return models::clamped_focal_loss(logits, target,
                                          {.gamma = gamma, .weights = weights(present)});
      };
    case GlaucomaLoss::cross_entropy:
      break;
  }
  return [=](const at::Tensor& logits, const at::Tensor& target, const at::Tensor& present) {
    return models::cross_entropy(logits, target, {.weights = weights(present)});
  };
}

training::Unpack glaucoma_unpack(bool channels_last) {
  return training::unpack_images({.rows_are_hwc = channels_last, .channels_last = channels_last});
}

training::TrainerOptions glaucoma_trainer_options(const GlaucomaConfig& config,
                                                  const ChosenDevice& device, int fold,
                                                  std::int64_t steps_per_epoch) {
  const GlaucomaTraining& training = config.training;
  training::TrainerOptions options{.epochs = training.epochs,
                                   .device = torch_device(device.device),
                                   .classes = glaucoma_classes,
                                   .checkpoint_every = training.checkpoint_every,
                                   .identity = {{"job", "glaucoma"},
                                                {"fold", std::to_string(fold)},
                                                {"folds", std::to_string(training.folds)},
                                                {"seed", std::to_string(config.seed)}}};
  options.early_stopping = training::EarlyStoppingOptions{.goal = training::Goal::maximum,
                                                          .patience = training.early_stopping};
  if (training.schedule == GlaucomaSchedule::plateau) {
    options.plateau = training::PlateauOptions{.goal = training::Goal::minimum,
                                               .factor = training.plateau_factor,
                                               .patience = training.plateau_patience};
  } else {
    const training::OneCycleOptions cycle{.max = training.learning_rate,
                                          .total = steps_per_epoch * training.epochs};
    options.schedule = [cycle](std::int64_t step) { return training::one_cycle(cycle, step); };
  }
  return options;
}

}  // namespace headrace::inline v1::app
