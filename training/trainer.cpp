#include <ATen/ops/zeros.h>
#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/detail/trainer_loop.h>
#include <headrace/training/numeric_error.h>
#include <headrace/training/rng_state.h>

#include <cmath>
#include <utility>

namespace headrace::inline v1::training {

namespace {

void check(const TrainerParts& parts, const TrainerOptions& options) {
  if (options.epochs < 1 || options.accumulation < 1)
    throw ConfigError("[trainer] epochs and accumulation must be at least 1, got " +
                      std::to_string(options.epochs) + " and " +
                      std::to_string(options.accumulation));
  if (options.schedule && options.plateau)
    throw ConfigError(
        "[trainer] the learning rate follows either schedule or plateau, both were given");
  if ((options.plateau || options.early_stopping) && parts.validation == nullptr)
    throw ConfigError("[trainer] plateau and early_stopping need a validation loader");
  if (parts.train.batches_per_epoch() < 1)
    throw DataError("[trainer] the training loader has " +
                    std::to_string(parts.train.samples_per_epoch()) +
                    " samples and gives no batch; lower the batch size or keep the tail");
  if (parts.validation != nullptr && parts.validation->batches_per_epoch() < 1)
    throw DataError("[trainer] the validation loader has " +
                    std::to_string(parts.validation->samples_per_epoch()) +
                    " samples and gives no batch; lower the batch size or keep the tail");
}

TrainerOptions with_defaults(TrainerOptions options) {
  if (options.read_loss_every <= 0) options.read_loss_every = options.device.is_cpu() ? 1 : 16;
  if (!options.metric)
    options.metric = [](const Evaluation& evaluation) {
      return evaluation.confusion ? evaluation.accuracy() : -evaluation.loss;
    };
  return options;
}

}  // namespace

StepTimes& StepTimes::operator+=(const StepTimes& more) {
  data_wait += more.data_wait;
  copy += more.copy;
  compute += more.compute;
  other += more.other;
  return *this;
}

Trainer::Loop::Loop(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks)
    : parts_(std::move(parts)),
      options_(with_defaults(std::move(options))),
      callbacks_(std::move(callbacks)),
      update_(parts_.network, parts_.loss, parts_.optimizer,
              {.clip_norm = options_.clip_norm, .precision = options_.precision}),
      pace_(options_.device),
      exposed_(parts_.train.stats().transfer.exposed_since_built_s),
      reports_([this](const StepReport& report) { tell(report); }) {
  check(parts_, options_);
  progress_.position = parts_.train.position();
  progress_.plateau.learning_rate = parts_.optimizer.learning_rate();
  begin_epoch(0);
}

void Trainer::Loop::begin_epoch(std::int64_t epoch) {
  progress_.epoch = epoch;
  progress_.trained = false;
  progress_.position.epoch = epoch;
  progress_.position.position = 0;
  progress_.loss_sum = 0.0;
  progress_.samples = 0;
  loss_sum_ = at::zeros({}, at::TensorOptions(options_.device).dtype(at::kDouble));
  confusion_.reset();
  if (options_.classes > 0) confusion_.emplace(options_.classes);
}

void Trainer::Loop::restore(const Checkpoint& checkpoint) {
  require_same_identity(checkpoint.identity, options_.identity);
  load_weights(parts_.network, checkpoint.weights);
  parts_.optimizer.load_state(checkpoint.optimizer);
  reports_.clear();
  begin_epoch(checkpoint.progress.epoch);
  progress_ = checkpoint.progress;
  parts_.optimizer.set_learning_rate(progress_.plateau.learning_rate);
  loss_sum_.fill_(progress_.loss_sum);
  if (confusion_ && checkpoint.counters.contains("confusion"))
    confusion_->restore(checkpoint.counters.at("confusion"));
  loader_epoch_.reset();
  restore_rng_state(checkpoint.rng);
}

Checkpoint Trainer::Loop::checkpoint() const {
  Checkpoint checkpoint{.progress = progress_,
                        .weights = snapshot(parts_.network),
                        .optimizer = snapshot(parts_.optimizer.state()),
                        .rng = capture_rng_state(),
                        .counters = {},
                        .identity = options_.identity};
  checkpoint.progress.loss_sum = loss_sum_.item<double>();
  if (confusion_ && confusion_->state().defined())
    checkpoint.counters.emplace("confusion", confusion_->state().to(at::kCPU));
  return checkpoint;
}

void Trainer::Loop::require_finite() const {
  const double sum = loss_sum_.item<double>();
  if (!std::isfinite(sum))
    throw NumericError("[trainer] epoch " + std::to_string(progress_.epoch) +
                       ": the sum of the losses must be finite, got " + std::to_string(sum) +
                       "; lower the learning rate or clip the gradients");
}

void Trainer::Loop::save(bool must) {
  if (parts_.checkpoints == nullptr) return;
  settle();
  require_finite();
  try {
    const std::filesystem::path path = parts_.checkpoints->save(checkpoint());
    failed_saves_ = 0;
    if (callbacks_.on_checkpoint) callbacks_.on_checkpoint(path, progress_);
  } catch (const CheckpointError& error) {
    if (must || ++failed_saves_ >= options_.failed_saves) throw;
    if (callbacks_.on_warning)
      callbacks_.on_warning(std::string(error.what()) +
                            "; training goes on, the checkpoint before stays");
  }
}

void Trainer::Loop::seek_training_data() {
  if (loader_epoch_ == progress_.epoch) return;
  parts_.train.seek(progress_.position);
  loader_epoch_ = progress_.epoch;
}

Trainer::Trainer(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks)
    : loop_(std::make_unique<Loop>(std::move(parts), std::move(options), std::move(callbacks))) {}

Trainer::~Trainer() = default;

void Trainer::restore(const Checkpoint& checkpoint) {
  loop_->restore(checkpoint);
}

Checkpoint Trainer::checkpoint() const {
  return loop_->checkpoint();
}

const Progress& Trainer::progress() const {
  return loop_->progress();
}

RunResult Trainer::run(std::stop_token stop) {
  return loop_->run(std::move(stop));
}

}  // namespace headrace::inline v1::training
