#include <headrace/apps/jobs/leak/run_torch.h>

#include <headrace/apps/jobs/leak/names.h>
#include <headrace/apps/jobs/leak/training_memory.h>
#include <headrace/apps/train/go_on_torch.h>
#include <headrace/apps/train/trainer_callbacks_torch.h>
#include <headrace/apps/train/training_memory.h>
#include <headrace/models/leak_cnn.h>
#include <headrace/training/safetensors.h>

#include <ATen/Context.h>

#include <cstdio>

namespace headrace::inline v1::app {
namespace {

namespace fs = std::filesystem;

// Side by side with the trainer's own threads: HDF5's, the memory watch, signals, LibTorch's.
constexpr int other_threads = 4;

std::string text(const char* format, auto... values) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

}  // namespace

LeakRun::LeakRun(const LeakConfig& config, const ChosenDevice& device)
    : config_(config),
      device_(device),
      runtime_({.threads = config.threads.loader, .io_threads = config.threads.io}),
      files_(read_leak_files(config.data)),
      training_(plan_leak_data(files_.training, config.data, device.device)),
      validation_(plan_leak_data(files_.validation, config.data, device.device)),
      testing_(plan_leak_data(files_.testing, config.data, device.device)) {}

LeakSources LeakRun::outlines() const {
  return {training_.outline, validation_.outline, testing_.outline};
}

monitor::MemoryForecast LeakRun::forecast() const {
  const LeakLoaders loaders = build_leak_loaders(outlines(), files_, config_, device_, runtime_);
  monitor::MemoryForecast forecast;
  forecast.add("data in memory",
               training_.resident_bytes + validation_.resident_bytes + testing_.resident_bytes);
  add_loader_memory(forecast, "training", loaders.train);
  add_loader_memory(forecast, "evaluation", loaders.validation);
  if (!device_.device.is_cuda()) {
    add_leak_training_memory(forecast, config_.training,
                             files_.training.mels * files_.training.frames);
  }
  const int torch_threads =
      config_.threads.torch > 0 ? config_.threads.torch : headrace::usable_cores();
  add_process(forecast,
              runtime_.threads() + runtime_.io_threads() + 2 * torch_threads + other_threads);
  return forecast;
}

void LeakRun::open() {
  sources_ = {training_.open(), validation_.open(), testing_.open()};
}

training::TrainerOptions LeakRun::trainer_options(std::int64_t steps_per_epoch, RunView& view,
                                                  LeakScores& scores) const {
  training::TrainerOptions options =
      leak_trainer_options(config_, device_, files_.training, steps_per_epoch);
  options.on_validation_logits = [&scores](const Batch& batch, const training::Example&,
                                           const at::Tensor& output) { scores.add(batch, output); };
  options.metric = [this, &view, &scores](const training::Evaluation&) {
    const LeakFigures figures = leak_figures(scores, files_.validation);
    view.info(
        text("validation: AUC %.4f over segments, %.4f over recordings; F1 %.4f at threshold "
             "%.2f",
             figures.segment_auc, figures.recording_auc, figures.decisions.f1(),
             figures.decisions.threshold));
    return figures.decisions.f1();
  };
  return options;
}

FoldOutcome LeakRun::train_fold(int fold, const fs::path& folder, RunView& view,
                                const monitor::MemoryWatch& memory, std::stop_token stop) {
  const fs::path own_folder = folder / ("fold-" + std::to_string(fold));
  if (const std::optional<FoldOutcome> done = read_fold_outcome(own_folder)) return *done;

  LeakLoaders loaders = build_leak_loaders(sources_, files_, config_, device_, runtime_);
  at::manual_seed(config_.seed);
  const auto network = models::make_leak_cnn({.classes = leak_classes});
  network->move_to(torch_device(device_.device), config_.training.channels_last);
  training::AdamW optimizer(network->parameters(), {.learning_rate = config_.training.learning_rate,
                                                    .weight_decay = config_.training.weight_decay});
  training::CheckpointStore store(own_folder,
                                  {.warn = [&view](const std::string& line) { view.warn(line); }});
  LeakScores scores;
  const std::int64_t steps = loaders.train.batches_per_epoch();
  training::Trainer trainer(
      {.network = *network,
       .optimizer = optimizer,
       .loss = leak_training_loss(files_.training, config_.training, torch_device(device_.device)),
       .unpack = leak_unpack(files_.training, config_.training.channels_last),
       .train = loaders.train,
       .validation = &loaders.validation,
       .checkpoints = &store},
      trainer_options(steps, view, scores), trainer_callbacks(view, memory));
  view.begin_fold({.fold = fold,
                   .folds = 1,
                   .epochs = config_.training.epochs,
                   .samples_per_epoch = steps * config_.training.batch},
                  loaders.train);
  const training::RunResult result = go_on(trainer, store, config_.training.early_stopping, stop);
  view.end_fold();
  if (result.status == training::RunStatus::interrupted) return {.interrupted = true};
  FoldOutcome outcome = judge(store.best_path(), *network, loaders);
  outcome.best_epoch = result.best_epoch;
  write_fold_outcome(own_folder, outcome);
  return outcome;
}

// The threshold is that of the validation recordings; the test recordings see it once.
FoldOutcome LeakRun::judge(const fs::path& weights, models::Network& network,
                           LeakLoaders& loaders) const {
  training::load_weights(network, training::read_safetensors(weights).tensors);
  LeakScores scores;
  const auto evaluate = [&](Loader& loader) {
    return training::evaluate(
        network, loader, leak_unpack(files_.training, config_.training.channels_last),
        leak_training_loss(files_.training, config_.training, torch_device(device_.device)),
        {.classes = leak_classes,
         .device = torch_device(device_.device),
         .precision = leak_precision(config_.training),
         .on_logits = [&](const Batch& batch, const training::Example&, const at::Tensor& output) {
           scores.add(batch, output);
         }});
  };
  Position start = loaders.validation.position();
  start.position = 0;
  loaders.validation.seek(start);
  evaluate(loaders.validation);
  const LeakFigures chosen = leak_figures(scores, files_.validation);
  const auto evaluation = evaluate(loaders.test);
  const LeakFigures test = leak_figures(scores, files_.testing, chosen.decisions.threshold);
  const auto count = [](std::int64_t number) { return static_cast<double>(number); };
  return {.validation_accuracy = chosen.decisions.f1(),
          .test_accuracy = evaluation->accuracy(),
          .more = {{"threshold", chosen.decisions.threshold},
                   {"validation_f1", chosen.decisions.f1()},
                   {"test_segment_auc", test.segment_auc},
                   {"test_recording_auc", test.recording_auc},
                   {"test_f1", test.decisions.f1()},
                   {"test_recording_accuracy", test.decisions.accuracy()},
                   {"test_true_positive", count(test.decisions.true_positive)},
                   {"test_false_positive", count(test.decisions.false_positive)},
                   {"test_false_negative", count(test.decisions.false_negative)},
                   {"test_true_negative", count(test.decisions.true_negative)}}};
}

std::string LeakRun::results(const std::vector<std::pair<int, FoldOutcome>>& outcomes) const {
  const FoldOutcome& outcome = outcomes.front().second;
  const auto figure = [&](const char* name) {
    const auto found = outcome.more.find(name);
    return found == outcome.more.end() ? 0.0 : found->second;
  };
  return text(
      "selected at epoch %d, threshold %.2f by validation F1 %.4f\n"
      "test: AUC %.4f over segments, %.4f over recordings; segment accuracy %.4f\n"
      "test recordings: F1 %.4f, accuracy %.4f; leaks %.0f found, %.0f missed; others %.0f "
      "called leaks, %.0f not",
      static_cast<int>(outcome.best_epoch) + 1, figure("threshold"), figure("validation_f1"),
      figure("test_segment_auc"), figure("test_recording_auc"), outcome.test_accuracy,
      figure("test_f1"), figure("test_recording_accuracy"), figure("test_true_positive"),
      figure("test_false_negative"), figure("test_false_positive"), figure("test_true_negative"));
}

}  // namespace headrace::inline v1::app
