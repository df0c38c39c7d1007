#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/classification/config.h>
#include <headrace/apps/jobs/describe_task.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <string>

namespace headrace::inline v1::app {
namespace {

const std::array<std::string, 9> figures{
    "accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "top5", "auc", "qwk", "loss",
    "recall_"};

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
}

void ClassificationConfig::check() const {
  JobConfig::check();
  app::check(task, figures);
}

}  // namespace headrace::inline v1::app
