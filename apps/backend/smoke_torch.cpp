#include <headrace/apps/backend/smoke_torch.h>

#include <utility>

namespace headrace::inline v1::app {
namespace {

TriedStage tried(const training::StageStart& start, const std::string& member) {
  const training::Stage& stage = start.stage;
  TriedStage tried{.member = member,
                   .number = start.number,
                   .name = stage.name,
                   .epochs = stage.epochs,
                   .steps_per_epoch = (start.train.batches_per_epoch() + stage.accumulation - 1) /
                                      stage.accumulation,
                   .may_stop_early = stage.early_stopping && (stage.early_stopping->patience > 0 ||
                                                              stage.early_stopping->enough)};
  for (const training::Unfreeze& change : stage.unfreeze)
    tried.changes.push_back(change.at);
  return tried;
}

template <class... Given, class Behind>
std::function<void(Given...)> both(std::function<void(Given...)> first, Behind behind) {
  return [first = std::move(first), behind = std::move(behind)](Given... given) {
    if (first) first(given...);
    behind(given...);
  };
}

}  // namespace

void also_tell(SmokeTrial& trial, training::MemberCallbacks& callbacks, const std::string& member) {
  training::TrainerCallbacks& trainer = callbacks.trainer;
  callbacks.on_stage =
      both(std::move(callbacks.on_stage), [&trial, member](const training::StageStart& start) {
        trial.begin_stage(tried(start, member));
      });
  callbacks.on_test =
      both(std::move(callbacks.on_test), [&trial, member](const training::Evaluation& test) {
        trial.on_once({.member = member, .what = "test", .seconds = test.full_seconds});
      });
  trainer.on_step = both(std::move(trainer.on_step), [&trial](const training::StepReport& step) {
    trial.on_step({.epoch = step.epoch, .step = step.step, .times = step.times});
  });
  trainer.on_epoch = both(std::move(trainer.on_epoch), [&trial](const training::EpochReport& end) {
    if (end.validation) trial.on_evaluation(end.epoch, end.validation->full_seconds);
  });
  trainer.on_checkpoint = both(
      std::move(trainer.on_checkpoint),
      [&trial](const std::filesystem::path&, const training::Progress&) { trial.on_checkpoint(); });
}

}  // namespace headrace::inline v1::app
