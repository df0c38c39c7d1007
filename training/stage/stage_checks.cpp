#include <headrace/training/optimizer/detail/optimizer_kernels.h>
#include <headrace/training/stage/detail/refuse_stage.h>
#include <headrace/training/stage/stage_checks.h>

#include <algorithm>
#include <string>
#include <variant>

namespace headrace::inline v1::training {

namespace {

using detail::refuse;

void require_validation(const Stage& stage) {
  if (stage.start == StartFrom::best)
    refuse(stage, "start: best needs a validation, there is none; start from last");
  if (std::holds_alternative<PlateauOptions>(stage.schedule))
    refuse(stage, "schedule: a plateau needs a validation, there is none; take another");
  if (stage.early_stopping && stage.early_stopping->patience > 0)
    refuse(stage, "early_stopping needs a validation, there is none; set it to 0");
  if (stage.early_stopping && stage.early_stopping->enough)
    refuse(stage, "stop_at needs a validation, there is none; set it to null");
}

void require_direction(const Stage& stage, const Course& course) {
  const auto* plateau = std::get_if<PlateauOptions>(&stage.schedule);
  if (plateau == nullptr || plateau->goal == course.goal_of(plateau->figure)) return;
  const bool falls = plateau->goal == Goal::maximum;
  refuse(stage, "schedule: " + plateau->figure + " gets better " +
                    (falls ? "downwards, but the plateau's goal is higher; set it to lower"
                           : "upwards, but the plateau's goal is lower; set it to higher"));
}

void require_moments(const Stage& stage, const std::vector<Stage>& stages) {
  if (&stage == &stages.front())
    refuse(stage, "keep_moments: they are of the stage before, the first has none; leave it out");
  if (stage.start == StartFrom::best)
    refuse(stage,
           "keep_moments: they belong to the last weights of the stage before, got start: best; "
           "start from last");
  const std::vector<std::string>& names = detail::state_names(stage.optimizer.rule);
  if (names.empty() || names != detail::state_names((&stage - 1)->optimizer.rule))
    refuse(stage,
           "keep_moments: the optimiser must have moments, the same as that of the stage before, "
           "got another");
}

bool joins_later(const Stage& stage, const std::string& name) {
  return models::fits_any(name, stage.frozen) &&
         std::ranges::any_of(stage.unfreeze, [&](const Unfreeze& change) {
           return models::fits_any(name, change.patterns);
         });
}

// Moments go over where a stage begins, and to nothing that joins inside it.
void require_lasting_moments(const Stage& stage, const Stage& before,
                             const models::NamedTensors& parameters) {
  for (const models::NamedTensor& one : parameters) {
    const bool trained =
        !models::fits_any(one.name, before.frozen) || joins_later(before, one.name);
    if (trained && joins_later(stage, one.name))
      refuse(stage,
             "keep_moments: \"" + one.name +
                 "\" was trained in the stage before and unfreezes later in this one, which "
                 "would lose its moments; train it from the start, or leave keep_moments out");
  }
}

void require_parts(const Stage& stage, models::Network& network) {
  parameter_groups(stage, network.parameters());
  network.checkpoint(stage.checkpointed);
  if (stage.frozen_norms && !has_batch_norms(network))
    refuse(stage,
           "frozen_norms: there must be norms with running statistics, the network has none; leave "
           "it out");
}

}  // namespace

bool has_batch_norms(const models::Network& network) {
  return std::ranges::any_of(network.buffers(), [](const models::NamedTensor& buffer) {
    return buffer.name.ends_with("running_mean");
  });
}

void check_stages(const Course& course, const std::vector<Stage>& stages,
                  models::Network& network) {
  for (const Stage& stage : stages) {
    check(stage);
    if (stage.channels_last != stages.front().channels_last)
      refuse(stage, "channels_last must be that of the stages before");
    if (stage.start == StartFrom::best && &stage == &stages.front())
      refuse(stage, "start: best is of the stage before, the first has none; leave it out");
    if (stage.keep_moments) require_moments(stage, stages);
    if (!course.evaluates(Split::validation)) require_validation(stage);
    require_direction(stage, course);
  }
  for (const Stage& stage : stages) {
    require_parts(stage, network);
    if (stage.keep_moments) require_lasting_moments(stage, *(&stage - 1), network.parameters());
  }
}

}  // namespace headrace::inline v1::training
