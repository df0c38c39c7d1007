#include <headrace/engine/base/error.h>
#include <headrace/training/stage_checks.h>

#include <string>
#include <variant>

namespace headrace::inline v1::training {

namespace {

[[noreturn]] void refuse(const Stage& stage, const std::string& rule) {
  throw ConfigError("[stage " + stage.name + "] " + rule);
}

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

void require_moments(const Stage& stage, const std::vector<Stage>& stages) {
  if (&stage == &stages.front())
    refuse(stage, "keep_moments: they are of the stage before, the first has none; leave it out");
  if (stage.start == StartFrom::best)
    refuse(stage,
           "keep_moments: they belong to the last weights of the stage before, got start: best; "
           "start from last");
  if ((&stage - 1)->optimizer.rule.index() != stage.optimizer.rule.index())
    refuse(stage, "keep_moments: the optimiser must be that of the stage before, got another");
}

void require_parts(const Stage& stage, models::Network& network) {
  parameter_groups(stage, network.parameters());
  network.checkpoint(stage.checkpointed);
  if (stage.frozen_norms && network.buffers().empty())
    refuse(stage,
           "frozen_norms: there must be norms with running statistics, the network has none; leave "
           "it out");
}

}  // namespace

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
  }
  for (const Stage& stage : stages)
    require_parts(stage, network);
}

}  // namespace headrace::inline v1::training
