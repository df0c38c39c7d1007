#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/errors.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <algorithm>
#include <utility>

namespace headrace::inline v1::training {

namespace {

void require_batches(const Loader& loader, const char* which) {
  if (loader.batches_per_epoch() > 0) return;
  throw DataError(std::string("[trainer] the ") + which + " loader has " +
                  std::to_string(loader.samples_per_epoch()) +
                  " samples and gives no batch; lower the batch size or keep the tail");
}

void check_parts(const TrainerParts& parts) {
  const Stage& stage = parts.stage;
  check(stage);
  const bool plateau = std::holds_alternative<PlateauOptions>(stage.schedule);
  const bool stops =
      stage.early_stopping && (stage.early_stopping->patience > 0 || stage.early_stopping->enough);
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

TensorMap buffers_of(const models::Network& network, const WeightAverage& average) {
  const TensorMap all = average.state();
  TensorMap buffers;
  for (const models::NamedTensor& buffer : network.buffers())
    buffers.emplace(buffer.name, all.at(buffer.name));
  return buffers;
}

}  // namespace

Trainer::Loop::Loop(TrainerParts parts, TrainerOptions options, TrainerCallbacks callbacks)
    : parts_(parts),
      options_(with_defaults(std::move(options))),
      callbacks_(std::move(callbacks)),
      update_(parts_.course, parts_.network, parts_.optimizer,
              {.device = options_.device,
               .clip_norm = parts_.stage.clip_norm,
               .precision = parts_.stage.precision}),
      selection_(parts_.course.selected_by()),
      buffers_(parts_.network, newest_unknown() + 1),
      pace_(options_.device),
      exposed_(parts_.train.stats().transfer.exposed_since_built_s),
      reports_([this](const StepReport& report) { tell(report); }) {
  check_parts(parts_);
  if (parts_.checkpoints != nullptr) writer_.emplace(*parts_.checkpoints);
  const std::int64_t window = parts_.stage.accumulation;
  steps_per_epoch_ = (parts_.train.batches_per_epoch() + window - 1) / window;
  progress_.stage = options_.stage;
  progress_.position = parts_.train.position();
  set_rates(0);
  if (parts_.stage.ema > 0.0) {
    average_.emplace(parts_.network, parts_.stage.ema);
    buffers_.add(buffers_of(parts_.network, *average_));
  }
  begin_epoch(0);
}

void Trainer::Loop::begin_epoch(std::int64_t epoch) {
  progress_.epoch = epoch;
  progress_.trained = false;
  progress_.position.epoch = epoch;
  progress_.position.position = 0;
  progress_.samples = 0;
  progress_.epoch_skipped = 0;
  losses_ = LossMeans(true);
  metric_ = parts_.course.metric(Split::train, {});
  nan_ = NanCases(false);
  counted_rows_ = 0;
  unfreeze_parameters(epoch);
}

void Trainer::Loop::restore(const Checkpoint& checkpoint) {
  require_same_identity(checkpoint.identity, options_.identity, options_.defaults);
  if (checkpoint.progress.stage != options_.stage)
    throw CheckpointError("[checkpoint] must be of stage " + std::to_string(options_.stage) +
                          ", got one of stage " + std::to_string(checkpoint.progress.stage));
  load_weights(parts_.network, checkpoint.weights);
  const Progress before = progress_;
  if (checkpoint.progress.unfrozen_at.size() < progress_.unfrozen_at.size()) forget_unfrozen();
  for (std::size_t change = progress_.unfrozen_at.size();
       change < checkpoint.progress.unfrozen_at.size(); ++change)
    add_unfrozen(change, checkpoint.progress.unfrozen_at[change]);
  parts_.optimizer.load_state(checkpoint.optimizer);
  if (average_) average_->load_state(checkpoint.ema);
  if (GradScaler* scaler = update_.scaler()) scaler->load_state(checkpoint.scaler);
  reports_.clear();
  outcomes_ = {};
  progress_ = checkpoint.progress;
  begin_epoch(checkpoint.progress.epoch);
  progress_ = checkpoint.progress;
  keep_memory_plan(before);
  set_rates(std::max<std::int64_t>(progress_.step - progress_.skipped - 1, 0));
  losses_.restore(part_of(checkpoint.counters, detail::of_losses));
  if (metric_) metric_->restore(part_of(checkpoint.counters, detail::of_metric));
  if (const auto found = checkpoint.counters.find(detail::of_nan);
      found != checkpoint.counters.end())
    nan_.restore(found->second);
  if (const auto found = checkpoint.counters.find(detail::counted_before);
      found != checkpoint.counters.end())
    counted_rows_ = found->second.item<std::int64_t>();
  fitted_ = checkpoint.fitted;
  unsaved_best_.reset();  // of what came behind it
  loader_epoch_.reset();
  restore_rng_state(checkpoint.rng);
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

WeightAverage* Trainer::average() {
  return loop_->average();
}

RunResult Trainer::run(std::stop_token stop) {
  return loop_->run(std::move(stop));
}

}  // namespace headrace::inline v1::training
