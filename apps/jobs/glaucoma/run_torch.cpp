#include <headrace/apps/jobs/glaucoma/run_torch.h>

#include <headrace/apps/jobs/glaucoma/names.h>
#include <headrace/apps/jobs/glaucoma/parts_torch.h>
#include <headrace/apps/jobs/glaucoma/training_memory.h>
#include <headrace/apps/train/go_on_torch.h>
#include <headrace/apps/train/trainer_callbacks_torch.h>
#include <headrace/apps/train/training_memory.h>
#include <headrace/models/efficient_glaucoma_cnn.h>
#include <headrace/training/safetensors.h>

#include <ATen/Context.h>

#include <string>
#include <utility>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Side by side with the trainer's own threads: HDF5's, the memory watch, signals, LibTorch's.
constexpr int other_threads = 4;

void check_rows(const GlaucomaRows& rows, const fs::path& file) {
  if (rows.train.empty() || rows.test.empty()) {
    throw DataError("[data] " + file.string() + " must hold samples of both splits, got " +
                    std::to_string(rows.train.size()) + " for training and " +
                    std::to_string(rows.test.size()) + " for the test");
  }
}

}  // namespace

GlaucomaRun::GlaucomaRun(const GlaucomaConfig& config, const ChosenDevice& device)
    : config_(config),
      device_(device),
      runtime_({.threads = config.threads.loader, .io_threads = config.threads.io}),
      planned_(plan_glaucoma_source(config.data)),
      rows_(read_glaucoma_rows(config.data.file, config.seed)) {
  check(config.data.cache, "data.cache");
  check_rows(rows_, config.data.file);
  folds_ = glaucoma_folds(rows_, config_);
}

std::vector<int> GlaucomaRun::folds() const {
  if (config_.training.fold) return {*config_.training.fold};
  std::vector<int> all;
  for (int fold = 0; fold < config_.training.folds; ++fold)
    all.push_back(fold);
  return all;
}

monitor::MemoryForecast GlaucomaRun::forecast() const {
  const auto first = static_cast<std::size_t>(folds().front());
  const GlaucomaRecords outline = glaucoma_records(planned_.outline, config_);
  const GlaucomaLoaders loaders =
      build_glaucoma_loaders(outline, rows_, folds_[first], config_, device_, runtime_);
  const std::int64_t pixels = planned_.outline->fields().at(glaucoma_map_names[0]).shape.elements();
  monitor::MemoryForecast forecast;
  if (planned_.resident_bytes > 0) forecast.add("data in memory", planned_.resident_bytes);
  if (outline.cache) forecast.add("decoded cache", outline.source->resident_bytes());
  add_loader_memory(forecast, "training", loaders.train);
  add_loader_memory(forecast, "evaluation", loaders.validation);
  if (!device_.device.is_cuda()) {
    add_glaucoma_training_memory(forecast, config_.training, pixels);
  }
  const int torch_threads =
      config_.threads.torch > 0 ? config_.threads.torch : headrace::usable_cores();
  add_process(forecast,
              runtime_.threads() + runtime_.io_threads() + 2 * torch_threads + other_threads);
  return forecast;
}

void GlaucomaRun::open() {
  records_ = glaucoma_records(planned_.open(), config_);
}

FoldOutcome GlaucomaRun::train_fold(int fold, const fs::path& folder, RunView& view,
                                    const monitor::MemoryWatch& memory, std::stop_token stop) {
  const fs::path fold_folder = folder / ("fold-" + std::to_string(fold));
  if (const std::optional<FoldOutcome> done = read_fold_outcome(fold_folder)) return *done;

  GlaucomaLoaders loaders = build_glaucoma_loaders(
      records_, rows_, folds_[static_cast<std::size_t>(fold)], config_, device_, runtime_);
  at::manual_seed(config_.seed + static_cast<std::uint64_t>(fold));
  const auto network =
      models::make_efficient_glaucoma_cnn({.channels = 3, .classes = glaucoma_classes});
  network->move_to(torch_device(device_.device), config_.training.channels_last);
  training::AdamW optimizer(network->parameters(), {.learning_rate = config_.training.learning_rate,
                                                    .weight_decay = config_.training.weight_decay});
  training::CheckpointStore store(fold_folder,
                                  {.warn = [&view](const std::string& text) { view.warn(text); }});
  training::Trainer trainer(
      {.network = *network,
       .optimizer = optimizer,
       .loss = glaucoma_loss(config_.training),
       .unpack = glaucoma_unpack(config_.training.channels_last),
       .train = loaders.train,
       .validation = &loaders.validation,
       .checkpoints = &store},
      glaucoma_trainer_options(config_, device_, fold, loaders.train.batches_per_epoch()),
      trainer_callbacks(view, memory));
  view.begin_fold({.fold = fold,
                   .folds = config_.training.folds,
                   .epochs = config_.training.epochs,
                   .samples_per_epoch = loaders.train.batches_per_epoch() * config_.training.batch},
                  loaders.train);
  const training::RunResult result = go_on(trainer, store, config_.training.early_stopping, stop);
  view.end_fold();
  if (result.status == training::RunStatus::interrupted) return {.interrupted = true};
  const FoldOutcome outcome{
      .validation_accuracy = result.best_metric.value_or(0.0),
      .best_epoch = result.best_epoch,
      .test_accuracy = test_accuracy(store.best_path(), *network, loaders.test)};
  write_fold_outcome(fold_folder, outcome);
  return outcome;
}

std::string GlaucomaRun::results(const std::vector<std::pair<int, FoldOutcome>>& outcomes) const {
  return fold_results(outcomes);
}

double GlaucomaRun::test_accuracy(const fs::path& weights, models::Network& network,
                                  Loader& test) const {
  training::load_weights(network, training::read_safetensors(weights).tensors);
  const auto evaluation =
      training::evaluate(network, test, glaucoma_unpack(config_.training.channels_last),
                         glaucoma_loss(config_.training),
                         {.classes = glaucoma_classes, .device = torch_device(device_.device)});
  return evaluation->accuracy();
}

}  // namespace headrace::inline v1::app
