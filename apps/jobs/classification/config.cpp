#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <string>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 10> figures{
    "accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "weighted_f1", "top5",
    "auc",      "exact_match",       "qwk",      "loss"};

}  // namespace

ClassificationConfig::ClassificationConfig() {
  task.augment = augment_list("[random_resized_crop, {flip: 0.5}]");
  task.loss = {LossEntry{}};
  task.model.name = "resnet18";
  task.selected_by = "macro_f1";
  training = {
      .epochs = 30, .schedule = training::CosineRate{.warmup_epochs = 2}, .early_stopping = 10};
}

void ClassificationConfig::describe_keys(Fields& fields) {
  describe_task(fields, *this, task, false);
  fields.key(
      "ordinal", ordinal,
      {.doc = "classes are steps of a scale, in the order of their names: adds the quadratic "
              "weighted kappa, qwk"});
}

void ClassificationConfig::settle(const Fields& read) {
  if (holds_arrays(task.data) && !read.was_set("augment")) task.augment.clear();
}

std::span<const std::string> ClassificationConfig::plateau_figures() const {
  return figures;
}

void ClassificationConfig::check() const {
  JobConfig::check();
  app::check(task, figures);
  if (task.selected_by == "qwk" && !ordinal)
    throw ConfigError(
        "[config] selected_by qwk needs classes that are steps of a scale; set ordinal: true");
}

}  // namespace headrace::inline v1::app
