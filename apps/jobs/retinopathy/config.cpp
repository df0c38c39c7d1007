#include <headrace/apps/feed/augment.h>
#include <headrace/apps/jobs/retinopathy/config.h>
#include <headrace/apps/learn/picture_job.h>
#include <headrace/apps/learn/task_config.h>
#include <headrace/engine/base/error.h>

#include <array>
#include <string>

namespace headrace::inline v1::app {
namespace {

using models::VoteScheme;

const std::array<std::string, 6> figures_of_pairs{
    "accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "auc", "loss"};
const std::array<std::string, 7> figures_of_classes{
    "accuracy", "balanced_accuracy", "macro_f1", "weighted_f1", "auc", "qwk", "loss"};

constexpr const char* original = "seresnext50_32x4d";

void describe(Fields& fields, VoteSettings& vote) {
  fields.choice("by", vote.by,
                {{"coupling", VoteScheme::coupling},
                 {"soft", VoteScheme::soft},
                 {"hard", VoteScheme::hard},
                 {"confidence", VoteScheme::confidence},
                 {"weighted", VoteScheme::weighted}},
                {.doc = "what decides; the test has the figures of all"});
  fields.key("calibrate", vote.calibrate,
             {.doc = "probabilities of a pair go through the temperature that its validation has "
                     "fitted"});
  fields.key("class_weights", vote.class_weights,
             {.doc = "of weighted: what a pair counts for each class as its winner; empty: 1",
              .min = 0.0});
  fields.key("boosts", vote.boosts, {.doc = "of weighted: a second factor, likewise", .min = 0.0});
}

}  // namespace

RetinopathyConfig::RetinopathyConfig() {
  task.image.crop = 1.0;
  task.image.prepare = prepare_list("[{clahe: 2.5}]");
  task.augment = augment_list(
      "[{rotate: 10}, {flip: 0.3}, {color_jitter: {brightness: 0.05, contrast: 0.05, "
      "saturation: 0, hue: 0}}]");
  task.loss = {LossEntry{.term = BinaryCrossEntropyTerm{}}};
  task.model.name = original;
  task.model.hidden = {512, 128};
  task.model.dropout = {0.4, 0.2, 0.2};
  task.selected_by = "accuracy";
  training = {
      .epochs = 100,
      .batch = 64,
      .evaluation_batch = 128,
      .accumulation = 2,
      .learning_rate = 4e-5,
      .weight_decay = 4e-4,
      .decay_vectors = true,
      .optimizer = training::AdamRule{},
      .groups = {{.pattern = "fc."}, {.pattern = "*", .rate_factor = 0.1}},
      .schedule =
          training::PlateauOptions{
              .figure = "accuracy", .goal = training::Goal::maximum, .factor = 0.5, .patience = 3},
      .clip = 0.5,
      .early_stopping = 25,
      .stop_at = 1.0};
}

void RetinopathyConfig::describe_keys(Fields& fields) {
  fields.choice(
      "method", method,
      {{"one_vs_one", EnsembleMethod::one_vs_one}, {"multi_class", EnsembleMethod::multi_class}},
      {.doc = "a network for each pair of classes, which vote, or one for all classes"});
  describe_task(fields, *this, task, false);
  fields.section("vote", [this](Fields& f) { describe(f, vote); },
                 {.doc = "how the networks of the pairs decide together",
                  .used_if = [this] { return pairs(); },
                  .used_when = "method is one_vs_one"});
}

void RetinopathyConfig::be_plain(const Fields& read) {
  if (!read.was_set("model.hidden") && !read.was_set("model.dropout")) {
    task.model.hidden.clear();
    task.model.dropout.clear();
  }
  if (!read.was_set("training.groups")) training.groups.clear();
}

void RetinopathyConfig::settle(const Fields& read) {
  if (holds_arrays(task.data) && !read.was_set("augment")) task.augment.clear();
  if (task.model.name != original || !task.model.torchscript.empty()) be_plain(read);
  if (task.selected_by == "loss" && !read.was_set("training.stop_at")) training.stop_at.reset();
  if (pairs()) return;
  if (!read.was_set("loss")) task.loss = {LossEntry{}};
  if (task.model.hidden.empty() || read.was_set("model.hidden") || read.was_set("model.dropout"))
    return;
  task.model.hidden = {1024, 512, 256};
  task.model.dropout = {0.4, 0.4 / 2, 0.4 / 3, 0.4 / 4};
}

std::span<const std::string> RetinopathyConfig::plateau_figures() const {
  if (pairs()) return figures_of_pairs;
  return figures_of_classes;
}

void RetinopathyConfig::check() const {
  JobConfig::check();
  app::check(task, plateau_figures());
  if (pairs() && task.data.split.folds > 0)
    throw ConfigError(
        "[config] data.split.folds: one_vs_one has a member for each pair of classes, and none for "
        "folds; leave it out, or set method: multi_class");
}

LoaderJob RetinopathyConfig::loader_job() const {
  return picture_loader_job({.config = *this});
}

std::vector<DataPart> RetinopathyConfig::data_parts() const {
  return picture_data_parts({.config = *this});
}

}  // namespace headrace::inline v1::app
