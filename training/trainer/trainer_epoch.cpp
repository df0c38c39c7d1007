#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/rng_state.h>
#include <headrace/training/memory/memory_report.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

// What comes behind an epoch's last step.
namespace headrace::inline v1::training {

std::optional<Evaluation> Trainer::Loop::validate(const std::stop_token& stop) {
  Position start = parts_.validation->position();
  start.epoch = progress_.epoch;
  start.position = 0;
  parts_.validation->seek(start);
  const AverageInPlace averaged(average());
  // An evaluation that is broken off is done again, and must not have drawn anything.
  TensorMap generators;
  behind_step([&] { generators = capture_rng_state(); });
  std::optional<Evaluation> evaluation;
  try {
    evaluation = evaluate(parts_.course, parts_.network, *parts_.validation, of_validation(), stop);
  } catch (const ResourceError&) {
    restore_rng_state(generators);
    throw;
  }
  if (!evaluation) restore_rng_state(generators);
  return evaluation;
}

EvaluationOptions Trainer::Loop::of_validation() {
  StateBytes beside = state();  // the network, which has no gradients now
  beside.weights = 0;
  beside.gradients = 0;
  return {.split = Split::validation,
          .device = options_.device,
          .stage = parts_.stage,
          .seed = options_.seed,
          .epoch = progress_.epoch,
          .step = progress_.step - progress_.skipped,
          .steps = steps_per_epoch_ * parts_.stage.epochs,
          .batches = options_.trial_steps,
          .rows = progress_.evaluation_rows,
          .held = owners_of(beside),
          .on_fewer_rows = [this](std::int64_t rows, const std::string& warning) {
            progress_.evaluation_rows = rows;
            if (callbacks_.on_warning) callbacks_.on_warning(warning);
          }};
}

EpochReport Trainer::Loop::report_of_training() {
  EpochReport report{.epoch = progress_.epoch,
                     .step = progress_.step,
                     .samples = progress_.samples,
                     .skipped = progress_.epoch_skipped,
                     .learning_rate = rate_,
                     .selected_by = selection_.figure,
                     .metric = std::numeric_limits<double>::quiet_NaN(),
                     .times = epoch_times_,
                     .training_seconds = training_seconds_,
                     .steps = epoch_steps_};
  behind_step([&] {
    report.train = losses_.figures();
    Figures found = metric_ ? metric_->result() : Figures{};
    if (nan_.count() > 0) found = not_numbers(std::move(found));
    report.train.insert(report.train.end(), found.begin(), found.end());
  });
  return report;
}

// Evaluation and what follows from it. Nothing while the run goes on.
std::optional<RunStatus> Trainer::Loop::finish_epoch(const std::stop_token& stop) {
  EpochReport report = report_of_training();
  if (parts_.validation != nullptr) {
    try {
      report.validation = validate(stop);
    } catch (const ResourceError&) {
      save_at_last();
      throw;
    }
    if (!report.validation) {
      behind_step([this] { save(true); });
      return RunStatus::interrupted;
    }
  }
  if (report.validation) judge(report);
  report.next_learning_rate = rate_;
  begin_epoch(next_epoch());
  report.seconds = detail::seconds_since(epoch_start_);
  // Before it is saved: a process that ends in between tells of the epoch again, and not never.
  if (callbacks_.on_epoch) callbacks_.on_epoch(report);
  const bool must = is_stopped_early() || progress_.epoch == parts_.stage.epochs;
  behind_step([&] { save(must); });
  return std::nullopt;
}

double Trainer::Loop::figure_of(const Evaluation& validation, const std::string& name,
                                const char* wanted) const {
  if (validation.samples == 0) return std::numeric_limits<double>::quiet_NaN();
  std::string names;
  for (const auto& [known, value] : validation.figures) {
    if (known == name)
      return validation.no_numbers.cases > 0 ? std::numeric_limits<double>::quiet_NaN() : value;
    names += (names.empty() ? "" : ", ") + known;
  }
  throw ConfigError("[trainer] stage " + parts_.stage.name + ": " + wanted +
                    " must be a figure of the validation, got \"" + name + "\"; there are " +
                    names);
}

// Once an epoch: why there is no number, or whose there is none.
void Trainer::Loop::warn_of_figures(const Evaluation& validation,
                                    const std::set<std::string>& followed) const {
  if (!callbacks_.on_warning) return;
  const std::string epoch = " of epoch " + std::to_string(progress_.epoch);
  if (validation.unread.cases > 0)
    callbacks_.on_warning("[trainer] validation" + epoch + ": " +
                          validation.unread.words(validation.samples));
  if (validation.no_numbers.cases > 0)
    return callbacks_.on_warning("[trainer] validation" + epoch + ": the network gives " +
                                 validation.no_numbers.words(validation.samples) +
                                 "; no figure of it is a number, and it counts as no improvement");
  std::string words;
  for (const auto& [name, value] : validation.figures) {
    const bool loss = name == "loss";
    if (loss ? std::isfinite(value) : !std::isnan(value) || !followed.contains(name)) continue;
    words +=
        loss ? "; the loss must be finite, got " + std::string(std::isnan(value) ? "nan" : "inf")
             : "; " + name + " is not defined over these records, as where a class is missing";
    if (followed.contains(name)) words += ", and counts as no improvement";
  }
  if (!words.empty()) callbacks_.on_warning("[trainer] validation" + epoch + ':' + words.substr(1));
}

// What the evaluation changes: learning rate, patience, best weights.
void Trainer::Loop::judge(EpochReport& report) {
  const Evaluation& validation = *report.validation;
  fitted_ = validation.fitted;
  std::set<std::string> names{selection_.figure};  // that something goes by
  if (const auto* plateau = std::get_if<PlateauOptions>(&parts_.stage.schedule)) {
    const double followed = figure_of(validation, plateau->figure, "plateau.figure");
    names.insert(plateau->figure);
    progress_.plateau = plateau_after(*plateau, progress_.plateau, followed);
    set_rates(progress_.step - progress_.skipped);
  }
  report.metric = figure_of(validation, selection_.figure, "what selects");
  warn_of_figures(validation, names);
  const EarlyStoppingVerdict verdict =
      early_stopping_after(early_stopping(), progress_.early_stopping, report.metric,
                           figure(validation.figures, "loss"));
  progress_.early_stopping = verdict.state;
  report.improved = verdict.improved || (is_trial() && validation.no_numbers.cases == 0);
  if (!report.improved) return;
  progress_.best_epoch = report.epoch;
  if (parts_.checkpoints != nullptr) keep_best(report);
}

// Its tensors are those of the save that follows.
void Trainer::Loop::keep_best(const EpochReport& report) {
  const UnreadRecords& unread = report.validation->unread;
  unsaved_best_ = BestWeights{
      .stage = options_.stage,
      .epoch = report.epoch,
      .selected_by = selection_.figure,
      .validation = report.validation->figures,
      .unread = unread.cases > 0 ? unread.words(report.validation->samples) : std::string(),
      .fitted = fitted_,
      .notes = options_.notes};
}

}  // namespace headrace::inline v1::training
