#include <headrace/training/errors.h>
#include <headrace/training/trainer/detail/trainer_loop.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

// What follows from steps whose loss or gradients are not finite.
namespace headrace::inline v1::training {

namespace {

std::string first_of(const std::vector<Origin>& samples) {
  constexpr std::size_t shown = 3;
  std::string list;
  for (std::size_t i = 0; i < std::min(samples.size(), shown); ++i)
    list += (i == 0 ? "" : ", ") + to_string(samples[i]);
  if (samples.size() > shown) list += " and " + std::to_string(samples.size() - shown) + " more";
  return list;
}

std::vector<Origin> samples_of(const std::vector<RowOrigins>& batches) {
  std::vector<Origin> samples;
  for (const RowOrigins& rows : batches)
    for (Origin& origin : rows.list())
      if (origin.index >= 0) samples.push_back(std::move(origin));
  return samples;
}

std::string number_or_nan(double value) {
  return std::isnan(value) ? "nan" : std::to_string(value);
}

std::string words_of(const BadStep& bad) {
  return "[trainer] step " + std::to_string(bad.step) + " (epoch " + std::to_string(bad.epoch) +
         "): loss and gradients must be finite, got a loss of " + number_or_nan(bad.loss) +
         " and a gradient norm of " + number_or_nan(bad.gradient_norm);
}

constexpr const char* advice = "; lower the learning rate, clip the gradients, or look at ";

}  // namespace

// Of a device the outcome of the newest steps, `unknown` of them, stays on its way: always as many,
// so that the schedule behind a skipped step does not depend on how fast the device is.
void Trainer::Loop::learn_outcomes(std::size_t unknown) {
  while (outcomes_.size() > unknown && !reload_wanted_) {
    const detail::StepOutcomes::Step step = outcomes_.pop();
    if (!step.skipped) {
      progress_.skipped_in_a_row = 0;
      progress_.overflows_in_a_row = 0;
      continue;
    }
    ++progress_.skipped;
    ++progress_.epoch_skipped;
    meet(step);
  }
}

void Trainer::Loop::meet(const detail::StepOutcomes::Step& step) {
  const NonFinitePolicy& policy = parts_.stage.non_finite;
  const bool overflow = update_.scaler() != nullptr && std::isfinite(step.loss);
  const auto* skip = std::get_if<SkipStep>(&policy);
  const int bearable = skip != nullptr && !overflow ? skip->in_a_row : SkipStep{}.in_a_row;
  const int in_a_row = ++(overflow ? progress_.overflows_in_a_row : progress_.skipped_in_a_row);
  const bool too_many = in_a_row >= bearable;
  if (overflow && !too_many) return;
  const auto* reload = std::get_if<ReloadCheckpoint>(&policy);
  reload_wanted_ = !overflow && reload != nullptr && progress_.reloads < reload->times &&
                   parts_.checkpoints != nullptr;
  const bool skips = skip != nullptr && !too_many;

  BadStep bad{.epoch = progress_.epoch,
              .step = step.number,
              .loss = step.loss,
              .gradient_norm = step.norm,
              .samples = samples_of(step.rows),
              .done = skips            ? "skipped"
                      : reload_wanted_ ? "reloaded"
                                       : "aborted"};
  if (callbacks_.on_bad_step) callbacks_.on_bad_step(bad);
  const std::string samples = first_of(bad.samples);
  if (reload_wanted_) return;
  if (!skips)
    throw NumericError(words_of(bad) +
                       (too_many
                            ? ", the last of " + std::to_string(in_a_row) + " such steps in a row"
                            : std::string()) +
                       advice + samples);
  buffers_.put_back(step.number);
  if (callbacks_.on_warning)
    callbacks_.on_warning(words_of(bad) + "; the step was skipped, " +
                          std::to_string(progress_.skipped) + " of " +
                          std::to_string(progress_.step) + " so far; its samples: " + samples);
}

void Trainer::Loop::reload() {
  const auto& policy = std::get<ReloadCheckpoint>(parts_.stage.non_finite);
  const int reloads = progress_.reloads + 1;
  const double factor = progress_.rate_factor * policy.factor;
  const std::int64_t step = progress_.step;
  take_outcome(true, OnFailure::warn);
  const std::optional<Checkpoint> last = parts_.checkpoints->load_latest();
  if (!last || last->progress.stage != options_.stage)
    throw NumericError("[trainer] step " + std::to_string(step) +
                       ": loss and gradients must be finite before the first checkpoint of a "
                       "stage, there is none to go back to; lower the learning rate or look at the "
                       "samples");
  reload_wanted_ = false;
  restore(*last);
  progress_.reloads = reloads;
  progress_.rate_factor = factor;
  if (callbacks_.on_warning)
    callbacks_.on_warning("[trainer] step " + std::to_string(step) +
                          " was not finite: back to the checkpoint of step " +
                          std::to_string(progress_.step) + " with " + std::to_string(factor) +
                          " of the rates, reload " + std::to_string(reloads) + " of " +
                          std::to_string(policy.times));
}

}  // namespace headrace::inline v1::training
