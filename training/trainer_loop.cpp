#include <headrace/training/detail/trainer_loop.h>

#include <algorithm>

#include <ATen/ops/where.h>

namespace headrace::inline v1::training {

RunResult Trainer::Loop::run(std::stop_token stop) {
  reports_.clear();
  while (progress_.epoch < parts_.stage.epochs) {
    if (out_of_patience()) return result(RunStatus::stopped_early);
    if (!progress_.trained) {
      const Went went = train_epoch(stop);
      if (went == Went::reloaded) continue;
      if (went == Went::stopped) {
        save(true);
        return result(RunStatus::interrupted);
      }
    }
    if (const std::optional<RunStatus> status = finish_epoch(stop)) return result(*status);
  }
  return result(RunStatus::finished);
}

int Trainer::Loop::patience() const {
  return parts_.stage.early_stopping && !is_trial() ? parts_.stage.early_stopping->patience : 0;
}

bool Trainer::Loop::out_of_patience() const {
  return patience() > 0 && progress_.early_stopping.bad >= patience();
}

RunResult Trainer::Loop::result(RunStatus status) const {
  return {.status = status,
          .progress = progress_,
          .best_metric = progress_.early_stopping.best,
          .best_epoch = progress_.best_epoch,
          .steps = steps_per_epoch_ * parts_.stage.epochs};
}

Trainer::Loop::Went Trainer::Loop::train_epoch(const std::stop_token& stop) {
  clock_.cut();
  epoch_start_ = clock_.last();
  epoch_times_ = {};
  epoch_steps_ = 0;
  seek_training_data();
  parts_.network.set_training(true);
  const Went went = train_steps(stop);
  settle();
  if (reload_wanted_) {
    reload();
    return Went::reloaded;
  }
  spend(epoch_times_);
  training_seconds_ = std::chrono::duration<double>(clock_.last() - epoch_start_).count();
  if (went == Went::stopped) return went;
  progress_.trained = true;
  loader_epoch_ = progress_.epoch + 1;
  if (is_trial()) loader_epoch_.reset();  // it may be in the middle
  if (callbacks_.on_train_epoch_end) callbacks_.on_train_epoch_end();
  return Went::epoch_ended;
}

// Adds the time since the call before; without a part to what is left over.
void Trainer::Loop::spend(StepTimes& times, double StepTimes::*part) {
  const double seconds = clock_.cut();
  times.wall_s += seconds;
  if (part != nullptr) times.*part += seconds;
}

Trainer::Loop::Went Trainer::Loop::train_steps(const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return Went::stopped;
    if (trial_epoch_ended()) return Went::epoch_ended;
    const Went went = train_step(stop);
    if (went != Went::on || reload_wanted_) return went;
  }
}

// Its epochs before this one are as many as there were changes.
bool Trainer::Loop::trial_epoch_ended() const {
  if (!is_trial()) return false;
  const auto epochs = static_cast<std::int64_t>(progress_.unfrozen_at.size()) + 1;
  return progress_.step >= epochs * std::min(options_.trial_steps, steps_per_epoch_);
}

// Of a trial the next that changes something.
std::int64_t Trainer::Loop::next_epoch() const {
  if (!is_trial()) return progress_.epoch + 1;
  const std::vector<Unfreeze>& changes = parts_.stage.unfreeze;
  const std::size_t done = progress_.unfrozen_at.size();
  return done < changes.size() ? changes[done].at : parts_.stage.epochs;
}

// Waits for the steps that a device has still to do, and tells of all that nobody was told of.
void Trainer::Loop::settle() {
  StepReport* last = reports_.newest();
  if (last != nullptr && options_.device.is_cuda()) {
    spend(last->times);
    pace_.finish();
    spend(last->times, &StepTimes::compute_s);
    exposed_.see(parts_.train.stats().transfer.exposed_since_built_s);
    exposed_.move(last->times);
  }
  learn_outcomes(0);
  reports_.tell_all();
}

void Trainer::Loop::tell(const StepReport& report) {
  epoch_times_ += report.times;
  if (callbacks_.on_step) callbacks_.on_step(report);
}

Trainer::Loop::Went Trainer::Loop::train_step(const std::stop_token& stop) {
  Window window;
  std::int64_t left = parts_.stage.accumulation;
  Went went = gather(window, true, left, stop);
  if (went != Went::on) {
    epoch_times_ += window.times;
    return went;
  }
  while (left > 0 && went == Went::on) {
    pace_.batch();
    spend(window.times, &StepTimes::compute_s);
    went = gather(window, false, left, {});
  }
  finish_step(window);
  return went;
}

// One micro-batch. Only the first of a step may be given up for a stop: the others have already
// moved running statistics and generators.
Trainer::Loop::Went Trainer::Loop::gather(Window& window, bool first, std::int64_t& left,
                                          const std::stop_token& stop) {
  spend(window.times);
  NextBatch next =
      parts_.train.next(std::chrono::nanoseconds::max(), first ? stop : std::stop_token{});
  spend(window.times, &StepTimes::data_wait_s);
  if (next.status == NextBatch::Status::stopped) return Went::stopped;
  if (next.status == NextBatch::Status::end) return Went::epoch_ended;

  const Moment now = moment(next.batch);
  Example example = parts_.course.example(next.batch, now);
  example.rows = counted_rows(example);
  spend(window.times, &StepTimes::copy_s);
  if (first) {
    set_rates(now.step);
    buffers_.keep(progress_.step + 1);
  }
  Forward forward = update_.accumulate(example, now, parts_.stage.accumulation == 1);
  window.add(forward);
  window.origins.push_back(next.batch.row_origins());
  window.losses.add(forward.terms, example);
  if (metric_) metric_->add({.output = std::move(forward.output), .example = example});
  progress_.position = next.batch.position_after();
  spend(window.times, &StepTimes::compute_s);
  --left;
  return Went::on;
}

Moment Trainer::Loop::moment(const Batch& batch) {
  random_ = Random({.seed = options_.seed,
                    .loader = hash_name("course, stage " + std::to_string(options_.stage)),
                    .epoch = progress_.epoch,
                    .position = batch.position_after().position});
  return {.epoch = progress_.epoch,
          .step = progress_.step - progress_.skipped,
          .steps = steps_per_epoch_ * parts_.stage.epochs,
          .stage = parts_.stage,
          .training = true,
          .device = options_.device,
          .random = random_};
}

void Trainer::Loop::Window::add(const Forward& forward) {
  const at::Tensor loss = forward.loss.to(at::kDouble);
  rows += forward.rows;
  at::Tensor sum;
  if (forward.weight.defined()) {
    const at::Tensor more = forward.weight.detach().to(at::kDouble);
    weight = weight.defined() ? weight + more : more;
    sum = at::where(more == 0, 0.0, loss * more);
  } else {
    sum = loss * static_cast<double>(forward.rows);
  }
  loss_sum = loss_sum.defined() ? loss_sum + sum : sum;
}

at::Tensor Trainer::Loop::Window::mean_loss() const {
  if (!weight.defined()) return loss_sum / static_cast<double>(rows);
  return loss_sum / at::where(weight == 0, 1.0, weight);  // nothing that weighs has a loss of zero
}

detail::StepReports::Figures Trainer::Loop::Window::figures(const at::Tensor& norm) const {
  if (rows == 0) return {};
  return {.loss = mean_loss(), .terms = losses.terms(), .norm = norm};
}

void Trainer::Loop::finish_step(Window& window) {
  const StepOutcome outcome = update_.finish();
  if (average_) average_->update(progress_.step - progress_.skipped, outcome.skipped);
  losses_.add(window.losses);
  progress_.samples += window.rows;
  ++progress_.step;
  ++epoch_steps_;
  const bool reads = save_is_due() || progress_.step % options_.read_loss_every == 0;
  if (options_.device.is_cuda()) {
    pace_.batch();
    // At each step: what is left at the end of an epoch must fit into its last one.
    exposed_.see(parts_.train.stats().transfer.exposed_since_built_s);
  }
  outcomes_.push({.number = progress_.step, .rows = std::move(window.origins)}, outcome);
  learn_outcomes(newest_unknown());
  spend(window.times, &StepTimes::compute_s);
  exposed_.move(window.times);
  reports_.add({.epoch = progress_.epoch,
                .step = progress_.step,
                .samples = window.rows,
                .epoch_samples = progress_.samples,
                .learning_rate = rate_,
                .times = window.times},
               reads ? window.figures(outcome.norm) : detail::StepReports::Figures{});
  // The newest of a device is told of when it is known what it waited for.
  reports_.tell_arrived(options_.device.is_cuda() ? 1 : 0);
  if (!reload_wanted_) save_behind_step();
}

}  // namespace headrace::inline v1::training
