#include <headrace/training/trainer/detail/trainer_loop.h>

#include <algorithm>

// The rates of a stage's groups, and the groups that join in its course.
namespace headrace::inline v1::training {

void Trainer::Loop::set_rates(std::int64_t update) {
  const SchedulePlace place{.update = update,
                            .steps_per_epoch = steps_per_epoch_,
                            .epochs = parts_.stage.epochs,
                            .reductions = progress_.plateau.reductions};
  const Schedule& schedule = parts_.stage.schedule;
  const double highest = parts_.stage.optimizer.learning_rate;
  Optimizer& optimizer = parts_.optimizer;
  rate_ = rate_at(schedule, highest, place) * progress_.rate_factor;
  for (std::size_t group = 0; group < optimizer.group_count(); ++group) {
    const double own = rate_at(schedule, highest * optimizer.rate_factor(group), place);
    const auto warmup = static_cast<double>(std::max<std::int64_t>(optimizer.warmup(group), 1));
    const auto known = static_cast<double>(update - optimizer.since(group) + 1);
    optimizer.set_learning_rate(group,
                                own * progress_.rate_factor * std::clamp(known / warmup, 0.0, 1.0));
  }
  if (const auto momentum = momentum_at(schedule, place)) optimizer.set_momentum(*momentum);
}

void Trainer::Loop::unfreeze_parameters(std::int64_t epoch) {
  const std::vector<Unfreeze>& changes = parts_.stage.unfreeze;
  while (progress_.unfrozen_at.size() < changes.size() &&
         changes[progress_.unfrozen_at.size()].at <= epoch) {
    const std::int64_t update = progress_.step - progress_.skipped;
    add_unfrozen(progress_.unfrozen_at.size(), update);
    progress_.unfrozen_at.push_back(update);
  }
}

// Back to the stage's start: a reload may lead to before a change.
void Trainer::Loop::forget_unfrozen() {
  const Stage& stage = parts_.stage;
  parts_.optimizer =
      Optimizer(parameter_groups(stage, parts_.network.parameters()), stage.optimizer);
  progress_.unfrozen_at.clear();
}

void Trainer::Loop::add_unfrozen(std::size_t change, std::int64_t since) {
  std::int64_t values = 0;
  for (const ParameterGroup& group :
       unfreeze(parts_.stage, change, parts_.network.parameters(), since)) {
    for (const models::NamedTensor& parameter : group.parameters)
      values += parameter.tensor.numel();
    behind_step([&] { parts_.optimizer.add_group(group); });
  }
  if (!callbacks_.on_change) return;
  std::int64_t trained = 0;
  for (const at::Tensor& parameter : parts_.optimizer.parameters())
    trained += parameter.numel();
  callbacks_.on_change("[stage " + parts_.stage.name + "] epoch " +
                       std::to_string(parts_.stage.unfreeze[change].at) + " unfreezes " +
                       std::to_string(values) + " values; " + std::to_string(trained) +
                       " are trained from here on");
}

}  // namespace headrace::inline v1::training
