#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/detail/trainer_loop.h>
#include <headrace/training/numeric_error.h>
#include <headrace/training/rng_state.h>

#include <cmath>
#include <utility>

namespace headrace::inline v1::training {

namespace {

void require_batches(const Loader& loader, const char* which) {
  if (loader.batches_per_epoch() > 0) return;
  throw DataError(std::string("[trainer] the ") + which + " loader has " +
                  std::to_string(loader.samples_per_epoch()) +
                  " samples and gives no batch; lower the batch size or keep the tail");
}

void check(const TrainerParts& parts) {
  const Stage& stage = parts.stage;
  require_known(stage);
  const bool plateau = std::holds_alternative<PlateauOptions>(stage.schedule);
  const bool stops = stage.early_stopping && stage.early_stopping->patience > 0;
  if ((plateau || stops) && parts.validation == nullptr)
    throw ConfigError("[trainer] plateau and early_stopping need a validation loader");
  require_batches(parts.train, "training");
  if (parts.validation != nullptr) require_batches(*parts.validation, "validation");
}

TrainerOptions with_defaults(TrainerOptions options) {
  if (options.read_loss_every <= 0) options.read_loss_every = options.device.is_cpu() ? 1 : 16;
  return options;
}

TensorMap part_of(const TensorMap& all, const std::string& prefix) {
  TensorMap part;
  for (const auto& [name, tensor] : all)
    if (name.starts_with(prefix)) part.emplace(name.substr(prefix.size()), tensor);
  return part;
}

}  // namespace

Trainer::Loop::Loop(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks)
    : parts_(parts),
      options_(with_defaults(std::move(options))),
      callbacks_(std::move(callbacks)),
      update_(parts_.course, parts_.network, parts_.optimizer,
              {.clip_norm = parts_.stage.clip_norm, .precision = parts_.stage.precision}),
      selection_(parts_.course.selected_by()),
      pace_(options_.device),
      exposed_(parts_.train.stats().transfer.exposed_since_built_s),
      reports_([this](const StepReport& report) { tell(report); }) {
  check(parts_);
  if (parts_.checkpoints != nullptr) writer_.emplace(*parts_.checkpoints);
  const std::int64_t window = parts_.stage.accumulation;
  steps_per_epoch_ = (parts_.train.batches_per_epoch() + window - 1) / window;
  rate_ = rate_of(parts_.stage.schedule, parts_.stage.optimizer.learning_rate, steps_per_epoch_,
                  parts_.stage.epochs);
  progress_.stage = options_.stage;
  progress_.position = parts_.train.position();
  progress_.plateau.learning_rate = parts_.optimizer.learning_rate();
  begin_epoch(0);
}

void Trainer::Loop::begin_epoch(std::int64_t epoch) {
  progress_.epoch = epoch;
  progress_.trained = false;
  progress_.position.epoch = epoch;
  progress_.position.position = 0;
  progress_.samples = 0;
  progress_.epoch_skipped = 0;
  losses_ = {};
  metric_ = parts_.course.metric(Split::train, {});
}

void Trainer::Loop::restore(const Checkpoint& checkpoint) {
  require_same_identity(checkpoint.identity, options_.identity);
  if (checkpoint.progress.stage != options_.stage)
    throw CheckpointError("[checkpoint] must be of stage " + std::to_string(options_.stage) +
                          ", got one of stage " + std::to_string(checkpoint.progress.stage));
  load_weights(parts_.network, checkpoint.weights);
  parts_.optimizer.load_state(checkpoint.optimizer);
  reports_.clear();
  skips_ = {};
  begin_epoch(checkpoint.progress.epoch);
  progress_ = checkpoint.progress;
  const std::int64_t updates = progress_.step - progress_.skipped;
  parts_.optimizer.set_learning_rate(rate_ && updates > 0 ? rate_(updates - 1)
                                                          : progress_.plateau.learning_rate);
  losses_.restore(part_of(checkpoint.counters, detail::of_losses));
  if (metric_) metric_->restore(part_of(checkpoint.counters, detail::of_metric));
  fitted_ = checkpoint.fitted;
  loader_epoch_.reset();
  restore_rng_state(checkpoint.rng);
}

void Trainer::Loop::require_finite() const {
  const std::string epoch = "[trainer] epoch " + std::to_string(progress_.epoch);
  if (losses_.rows() == 0) return;
  const double mean = figure(losses_.figures(), "loss");
  if (!std::isfinite(mean))
    throw NumericError(epoch + ": the mean of the losses must be finite, got " +
                       std::to_string(mean) + "; lower the learning rate or clip the gradients");
}

void Trainer::Loop::seek_training_data() {
  if (loader_epoch_ == progress_.epoch) return;
  parts_.train.seek(progress_.position);
  loader_epoch_ = progress_.epoch;
}

Trainer::Trainer(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks)
    : loop_(std::make_unique<Loop>(parts, std::move(options), std::move(callbacks))) {}

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
