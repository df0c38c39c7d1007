#include <headrace/engine/base/error.h>
#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <algorithm>

#include <ATen/ops/where.h>

namespace headrace::inline v1::training {

RunResult Trainer::Loop::run(std::stop_token stop) {
  RunResult result;
  const auto lack = lack_in([&] { result = run_epochs(stop); });
  if (lack)
    throw ResourceError(report_of("what follows step " + std::to_string(progress_.step), *lack) +
                        "; the checkpoint before stays");
  return result;
}

RunResult Trainer::Loop::run_epochs(const std::stop_token& stop) {
  reports_.clear();
  while (progress_.epoch < parts_.stage.epochs) {
    if (is_stopped_early()) return result(RunStatus::stopped_early);
    if (!progress_.trained) {
      const Went went = train_epoch(stop);
      if (went == Went::reloaded) continue;
      if (went == Went::stopped) {
        behind_step([this] { save(true); });
        return result(RunStatus::interrupted);
      }
    }
    if (const std::optional<RunStatus> status = finish_epoch(stop)) return result(*status);
  }
  return result(RunStatus::finished);
}

EarlyStoppingOptions Trainer::Loop::early_stopping() const {
  EarlyStoppingOptions options =
      parts_.stage.early_stopping.value_or(EarlyStoppingOptions{.patience = 0});
  options.goal = selection_.goal;
  return options;
}

bool Trainer::Loop::is_stopped_early() const {
  return !is_trial() && stops_early(early_stopping(), progress_.early_stopping);
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

// Tries the step until it is done: what was broken off has changed nothing that lasts.
Trainer::Loop::Went Trainer::Loop::train_step(const std::stop_token& stop) {
  Window window;
  Went went = Went::on;
  while (const std::optional<std::string> lack = lack_in([&] { went = try_step(window, stop); })) {
    const StepTimes spent = window.times;
    window = Window();  // nothing of the step lives on
    window.times = spent;
    step_down(*lack);
  }
  if (window.outcome)
    finish_step(window);
  else
    epoch_times_ += window.times;
  start_.reset();
  return went;
}

Trainer::Loop::Went Trainer::Loop::try_step(Window& window, const std::stop_token& stop) {
  keep_start();
  std::int64_t left = parts_.stage.accumulation;
  Went went = gather(window, true, left, stop);
  if (went != Went::on) return went;
  while (left > 0 && went == Went::on) {
    pace_.batch();
    spend(window.times, &StepTimes::compute_s);
    went = gather(window, false, left, {});
  }
  window.outcome = update_.finish();
  return went;
}

// One batch of the loader. Only the first of a step may be given up for a stop: the others have
// already moved running statistics and generators.
Trainer::Loop::Went Trainer::Loop::gather(Window& window, bool first, std::int64_t& left,
                                          const std::stop_token& stop) {
  spend(window.times);
  NextBatch next =
      parts_.train.next(std::chrono::nanoseconds::max(), first ? stop : std::stop_token{});
  spend(window.times, &StepTimes::data_wait_s);
  if (next.status == NextBatch::Status::stopped) return Went::stopped;
  if (next.status == NextBatch::Status::end) return Went::epoch_ended;

  const std::vector<std::int64_t> ends = ends_of(next.batch.size());
  for (std::size_t i = 1; i < ends.size(); ++i) {
    if (i > 1 && detail::is_padding_from(next.batch, ends[i - 1])) break;
    if (i > 1) pace_.batch();
    learn(window, next.batch, {.first = ends[i - 1], .last = ends[i]}, first && i == 1);
  }
  window.origins.push_back(next.batch.row_origins());
  progress_.position = next.batch.position_after();
  --left;
  return Went::on;
}

// Forward and backward pass of a micro-batch.
void Trainer::Loop::learn(Window& window, const Batch& batch, detail::BatchRows rows, bool first) {
  const Moment now = moment(detail::position_behind(batch, rows));
  Example example = parts_.course.example(detail::rows_of(batch, rows), now);
  example.rows = counted_rows(example);
  spend(window.times, &StepTimes::copy_s);
  if (first) {
    set_rates(now.step);
    buffers_.keep(progress_.step + 1);
    start_->kept = true;
  }
  const bool alone = parts_.stage.accumulation == 1 && progress_.halvings == 0;
  Forward forward = update_.accumulate(example, now, alone);
  window.add(forward);
  window.losses.add(forward.terms, example);
  window.seen += rows.last - rows.first;
  // A step that is done again has shown its first micro-batches to the metric by now.
  if (metric_ && window.seen > counted_rows_) {
    const Cases cases{.output = std::move(forward.output), .example = example};
    nan_.add(cases);
    metric_->add(cases);
    counted_rows_ = window.seen;
  }
  spend(window.times, &StepTimes::compute_s);
}

Moment Trainer::Loop::moment(std::int64_t position) {
  random_ = Random({.seed = options_.seed,
                    .loader = hash_name("course, stage " + std::to_string(options_.stage)),
                    .epoch = progress_.epoch,
                    .position = position});
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

// A step that was done is not done again: what follows it is tried once more by itself.
void Trainer::Loop::finish_step(Window& window) {
  const StepOutcome& outcome = *window.outcome;
  const std::int64_t update = progress_.step - progress_.skipped;
  ++progress_.step;
  ++epoch_steps_;
  counted_rows_ = 0;
  progress_.samples += window.rows;
  behind_step([&] {
    if (average_) average_->update(update, outcome.skipped);
  });
  behind_step([&] {
    LossMeans losses = losses_;
    losses.add(window.losses);
    losses_ = std::move(losses);
  });
  const bool reads = save_is_due() || progress_.step % options_.read_loss_every == 0;
  if (options_.device.is_cuda()) {
    pace_.batch();
    // At each step: what is left at the end of an epoch must fit into its last one.
    exposed_.see(parts_.train.stats().transfer.exposed_since_built_s);
  }
  behind_step([&] { outcomes_.push({.number = progress_.step, .rows = window.origins}, outcome); });
  learn_outcomes(newest_unknown());
  spend(window.times, &StepTimes::compute_s);
  exposed_.move(window.times);
  tell_later(window, reads);
  // The newest of a device is told of when it is known what it waited for.
  reports_.tell_arrived(options_.device.is_cuda() ? 1 : 0);
  if (reload_wanted_) return;
  const bool waits = save_waits_;
  behind_step([&] {
    save_waits_ = save_waits_ || waits;
    save_behind_step();
  });
}

// The figures are on their way before anybody waits for them.
void Trainer::Loop::tell_later(const Window& window, bool reads) {
  StepReport report{.epoch = progress_.epoch,
                    .step = progress_.step,
                    .samples = window.rows,
                    .epoch_samples = progress_.samples,
                    .learning_rate = rate_,
                    .times = window.times};
  if (!reads || window.rows == 0) return reports_.add(report, {});
  behind_step([&] {
    const models::NamedTensors terms = window.losses.terms();
    std::vector<at::Tensor> values{window.mean_loss()};
    report.terms.clear();
    for (const auto& [name, value] : terms) {
      report.terms.emplace_back(name, 0.0);
      values.push_back(value);
    }
    values.push_back(window.outcome->norm);
    reports_.scalars().push(values);
  });
  reports_.add(report);
}

}  // namespace headrace::inline v1::training
