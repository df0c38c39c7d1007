#include <headrace/training/detail/trainer_loop.h>

#include <cmath>
#include <limits>

namespace headrace::inline v1::training {

RunResult Trainer::Loop::run(std::stop_token stop) {
  reports_.clear();
  while (progress_.epoch < options_.epochs) {
    if (out_of_patience()) return result(RunStatus::stopped_early);
    if (!progress_.trained && !train_epoch(stop)) {
      save(true);
      return result(RunStatus::interrupted);
    }
    if (const std::optional<RunStatus> status = finish_epoch(stop)) return result(*status);
  }
  return result(RunStatus::finished);
}

bool Trainer::Loop::out_of_patience() const {
  return options_.early_stopping && options_.early_stopping->patience > 0 &&
         progress_.early_stopping.bad >= options_.early_stopping->patience;
}

RunResult Trainer::Loop::result(RunStatus status) const {
  return {.status = status,
          .progress = progress_,
          .best_metric = progress_.early_stopping.best,
          .best_epoch = progress_.best_epoch};
}

bool Trainer::Loop::train_epoch(const std::stop_token& stop) {
  clock_.cut();
  epoch_start_ = clock_.last();
  epoch_times_ = {};
  epoch_steps_ = 0;
  seek_training_data();
  parts_.network.set_training(true);
  const bool all = train_steps(stop);
  settle();
  epoch_times_.other += clock_.cut();
  training_seconds_ = std::chrono::duration<double>(clock_.last() - epoch_start_).count();
  if (!all) return false;
  progress_.trained = true;
  loader_epoch_ = progress_.epoch + 1;
  if (callbacks_.on_train_epoch_end) callbacks_.on_train_epoch_end();
  return true;
}

// Whether the epoch came to its end.
bool Trainer::Loop::train_steps(const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return false;
    const Went went = train_step(stop);
    if (went != Went::on) return went == Went::epoch_ended;
  }
}

// Waits for the steps that a device has still to do, and tells of all that nobody was told of.
void Trainer::Loop::settle() {
  StepReport* last = reports_.newest();
  if (last != nullptr && options_.device.is_cuda()) {
    last->times.other += clock_.cut();
    pace_.finish();
    last->times.compute += clock_.cut();
    exposed_.see(parts_.train.stats().transfer.exposed_since_built_s);
    exposed_.move(last->times);
  }
  reports_.tell_all();
}

void Trainer::Loop::tell(const StepReport& report) {
  epoch_times_ += report.times;
  if (callbacks_.on_step) callbacks_.on_step(report);
}

Trainer::Loop::Went Trainer::Loop::train_step(const std::stop_token& stop) {
  Window window;
  std::int64_t left = options_.accumulation;
  Went went = gather(window, true, left, stop);
  if (went != Went::on) {
    epoch_times_ += window.times;
    return went;
  }
  while (left > 0 && went == Went::on) {
    pace_.batch();
    window.times.compute += clock_.cut();
    went = gather(window, false, left, {});
  }
  finish_step(window);
  return went;
}

// One micro-batch. Only the first of a step may be given up for a stop: the others have already
// moved running statistics and generators.
Trainer::Loop::Went Trainer::Loop::gather(Window& window, bool first, std::int64_t& left,
                                          const std::stop_token& stop) {
  window.times.other += clock_.cut();
  NextBatch next =
      parts_.train.next(std::chrono::nanoseconds::max(), first ? stop : std::stop_token{});
  window.times.data_wait += clock_.cut();
  if (next.status == NextBatch::Status::stopped) return Went::stopped;
  if (next.status == NextBatch::Status::end) return Went::epoch_ended;

  const Example example = parts_.unpack(next.batch, options_.device);
  window.times.copy += clock_.cut();
  if (first && options_.schedule)
    parts_.optimizer.set_learning_rate(options_.schedule(progress_.step));
  const Forward forward = update_.accumulate(example, options_.accumulation == 1);
  const at::Tensor sum = forward.loss.to(at::kDouble) * static_cast<double>(forward.rows);
  window.loss_sum = window.loss_sum.defined() ? window.loss_sum + sum : sum;
  window.rows += forward.rows;
  if (confusion_) confusion_->add(forward.logits, example.target, example.present);
  progress_.position = next.batch.position_after();
  window.times.compute += clock_.cut();
  --left;
  return Went::on;
}

void Trainer::Loop::finish_step(Window& window) {
  const at::Tensor norm = update_.finish();
  loss_sum_ += window.loss_sum;
  progress_.samples += window.rows;
  ++progress_.step;
  ++epoch_steps_;
  const bool saves = saves_now();
  const bool reads = saves || progress_.step % options_.read_loss_every == 0;
  if (options_.device.is_cuda()) {
    pace_.batch();
    // At each step: what is left at the end of an epoch must fit into its last one.
    exposed_.see(parts_.train.stats().transfer.exposed_since_built_s);
  }
  window.times.compute += clock_.cut();
  exposed_.move(window.times);
  reports_.add(
      {.epoch = progress_.epoch,
       .step = progress_.step,
       .samples = window.rows,
       .epoch_samples = progress_.samples,
       .learning_rate = parts_.optimizer.learning_rate(),
       .times = window.times},
      progress_.position.position,
      reads ? detail::StepReports::Figures{window.loss_sum, norm} : detail::StepReports::Figures{});
  // The newest of a device is told of when it is known what it waited for.
  reports_.tell_arrived(options_.device.is_cuda() ? 1 : 0);
  if (saves) save(progress_.step == 1);
}

bool Trainer::Loop::saves_now() const {
  if (parts_.checkpoints == nullptr) return false;
  return progress_.step == 1 ||
         (options_.checkpoint_every > 0 && progress_.step % options_.checkpoint_every == 0);
}

std::optional<Evaluation> Trainer::Loop::validate(const std::stop_token& stop) {
  Position start = parts_.validation->position();
  start.epoch = progress_.epoch;
  start.position = 0;
  parts_.validation->seek(start);
  return evaluate(parts_.network, *parts_.validation, parts_.unpack, parts_.loss,
                  {.classes = options_.classes,
                   .device = options_.device,
                   .precision = options_.precision,
                   .on_logits = options_.on_validation_logits},
                  stop);
}

// Evaluation and what follows from it. Nothing while the run goes on.
std::optional<RunStatus> Trainer::Loop::finish_epoch(const std::stop_token& stop) {
  require_finite();
  EpochReport report{
      .epoch = progress_.epoch,
      .step = progress_.step,
      .samples = progress_.samples,
      .learning_rate = parts_.optimizer.learning_rate(),
      .train_loss = loss_sum_.item<double>() / static_cast<double>(progress_.samples),
      .metric = std::numeric_limits<double>::quiet_NaN(),
      .times = epoch_times_,
      .training_seconds = training_seconds_,
      .steps = epoch_steps_};
  if (confusion_) report.train_confusion = confusion_->matrix();
  if (parts_.validation != nullptr) {
    report.validation = validate(stop);
    if (!report.validation) {
      save(true);
      return RunStatus::interrupted;
    }
  }
  if (report.validation) judge(report);
  report.next_learning_rate = parts_.optimizer.learning_rate();
  begin_epoch(progress_.epoch + 1);
  save(out_of_patience() || progress_.epoch == options_.epochs);
  report.seconds = detail::seconds_since(epoch_start_);
  if (callbacks_.on_epoch) callbacks_.on_epoch(report);
  return std::nullopt;
}

// What the evaluation changes: learning rate, patience, best weights.
void Trainer::Loop::judge(EpochReport& report) {
  const Evaluation& validation = *report.validation;
  if (options_.plateau) {
    progress_.plateau = plateau_after(*options_.plateau, progress_.plateau, validation.loss);
    parts_.optimizer.set_learning_rate(progress_.plateau.learning_rate);
  }
  report.metric = options_.metric(validation);
  if (std::isnan(report.metric) && callbacks_.on_warning)
    callbacks_.on_warning("[trainer] the metric of epoch " + std::to_string(report.epoch) +
                          " is not a number and counts as no improvement");
  const EarlyStoppingVerdict verdict =
      early_stopping_after(options_.early_stopping.value_or(EarlyStoppingOptions{.patience = 0}),
                           progress_.early_stopping, report.metric);
  progress_.early_stopping = verdict.state;
  report.improved = verdict.improved;
  if (verdict.improved) {
    progress_.best_epoch = report.epoch;
    if (parts_.checkpoints != nullptr)
      parts_.checkpoints->save_best(
          snapshot(parts_.network),
          {{"epoch", std::to_string(report.epoch)}, {"metric", std::to_string(report.metric)}});
  }
}

}  // namespace headrace::inline v1::training
