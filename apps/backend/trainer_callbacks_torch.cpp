#include <headrace/apps/backend/confusion_torch.h>
#include <headrace/apps/backend/trainer_callbacks_torch.h>

namespace headrace::inline v1::app {
namespace {

StepFacts facts(const training::StepReport& report) {
  return {.epoch = report.epoch,
          .step = report.step,
          .samples = report.samples,
          .epoch_samples = report.epoch_samples,
          .learning_rate = report.learning_rate,
          .loss = report.loss,
          .terms = report.terms,
          .gradient_norm = report.gradient_norm,
          .times = report.times};
}

EpochFacts facts(const training::EpochReport& report, const std::vector<std::string>& classes) {
  EpochFacts facts{.epoch = report.epoch,
                   .step = report.step,
                   .learning_rate = report.learning_rate,
                   .train = report.train,
                   .selected_by = report.selected_by,
                   .improved = report.improved,
                   .steps = report.steps,
                   .times = report.times,
                   .seconds = report.seconds};
  if (report.skipped > 0)
    facts.train.emplace_back("skipped_steps", static_cast<double>(report.skipped));
  if (report.validation) {
    facts.validation = report.validation->figures;
    facts.confusion = named(report.validation->confusion, classes);
    facts.validation_s = report.validation->seconds;
  }
  return facts;
}

BadStepFacts facts(const training::BadStep& bad) {
  return {.epoch = bad.epoch,
          .step = bad.step,
          .loss = bad.loss,
          .gradient_norm = bad.gradient_norm,
          .done = bad.done,
          .samples = bad.samples};
}

}  // namespace

training::TrainerCallbacks trainer_callbacks(RunView& view, const monitor::MemoryWatch& memory,
                                             const std::vector<std::string>& classes) {
  return {.on_step = [&view](const training::StepReport& report) { view.on_step(facts(report)); },
          .on_train_epoch_end = [&view] { view.on_train_epoch_end(); },
          .on_epoch =
              [&view, &memory, classes](const training::EpochReport& report) {
                view.on_epoch(facts(report, classes), memory);
              },
          .on_checkpoint = {},
          .on_bad_step = [&view](const training::BadStep& bad) { view.on_bad_step(facts(bad)); },
          .on_change = [&view](const std::string& message) { view.info(message); },
          .on_warning = [&view](const std::string& message) { view.warn(message); }};
}

}  // namespace headrace::inline v1::app
