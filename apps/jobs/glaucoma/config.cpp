#include <headrace/apps/jobs/glaucoma/config.h>

#include <headrace/apps/feed/old_keys.h>

namespace headrace::inline v1::app {
namespace {

void describe(Fields& fields, GlaucomaData& data) {
  fields.key("file", data.file,
             {.doc = "HDF5 file with features/*, labels and split", .required = true});
  fields.key("resident", data.resident, {.doc = "most of the file that is kept in memory"});
  fields.key("stage", data.stage,
             {.doc = "folder the file is copied to first, checked; empty: read where it lies"});
  fields.section(
      "cache", [&](Fields& f) { describe(f, data.cache); },
      {.doc = "keeps the pictures made of the maps for the epochs and folds that follow"});
  fields.key("prefetch", data.prefetch,
             {.doc = "batches made ready ahead of the trainer", .min = 1.0, .max = 64.0});
}

void describe_schedule(Fields& fields, GlaucomaTraining& training) {
  const auto plateau = [&training] { return training.schedule == GlaucomaSchedule::plateau; };
  fields.choice(
      "schedule", training.schedule,
      {{"plateau", GlaucomaSchedule::plateau}, {"one-cycle", GlaucomaSchedule::one_cycle}},
      {.doc = "of the learning rate"});
  fields.key("plateau_factor", training.plateau_factor,
             {.doc = "factor of the rate when the validation loss stays",
              .above = 0.0,
              .below = 1.0,
              .used_if = plateau,
              .used_when = "schedule is plateau"});
  fields.key("plateau_patience", training.plateau_patience,
             {.doc = "epochs that are let pass before",
              .min = 0.0,
              .used_if = plateau,
              .used_when = "schedule is plateau"});
}

void describe(Fields& fields, GlaucomaTraining& training) {
  fields.key("epochs", training.epochs, {.doc = "of each fold", .min = 1.0, .max = 100000.0});
  fields.key("batch", training.batch, {.doc = "samples of a step", .min = 2.0, .max = 65536.0});
  fields.key("evaluation_batch", training.evaluation_batch,
             {.doc = "samples at once in evaluation", .min = 1.0, .max = 65536.0});
  fields.key("folds", training.folds,
             {.doc = "stratified parts of the training split", .min = 2.0, .max = 100.0});
  fields.key("fold", training.fold, {.doc = "train only this fold; null: all", .min = 0.0});
  fields.choice("loss", training.loss,
                {{"focal", GlaucomaLoss::focal},
                 {"clamped-focal", GlaucomaLoss::clamped_focal},
                 {"cross-entropy", GlaucomaLoss::cross_entropy}},
                {.doc = "clamped-focal is a known defect, kept to show what it costs"});
  fields.key("gamma", training.gamma,
             {.doc = "of the focal loss",
              .min = 0.0,
              .max = 10.0,
              .used_if = [&training] { return training.loss != GlaucomaLoss::cross_entropy; },
              .used_when = "loss is focal or clamped-focal"});
  fields.key("learning_rate", training.learning_rate,
             {.doc = "of AdamW; the highest of a cycle", .above = 0.0});
  fields.key("weight_decay", training.weight_decay, {.doc = "of AdamW", .min = 0.0, .max = 1.0});
  describe_schedule(fields, training);
  fields.key("early_stopping", training.early_stopping,
             {.doc = "epochs without a better validation accuracy; 0: never", .min = 0.0});
  fields.key("checkpoint_every", training.checkpoint_every,
             {.doc = "steps between checkpoints inside an epoch; 0: none", .min = 0.0});
  fields.key("channels_last", training.channels_last, {.doc = "memory layout of the network"});
}

}  // namespace

std::vector<MovedKey> old_glaucoma_keys() {
  std::vector<MovedKey> keys = old_training_keys();
  keys.push_back(now_in_augment("data.flip", "{flip: @}"));
  keys.push_back(now_in_augment("data.rotation", "{rotate: @}"));
  keys.push_back({.old = "training.folds", .now = "data.folds"});
  keys.push_back({.old = "training.gamma", .now = "loss.gamma"});
  return keys;
}

void describe(Fields& fields, GlaucomaConfig& config) {
  fields.moved(old_glaucoma_keys());
  describe(fields, static_cast<RunSettings&>(config));
  fields.section("data", [&](Fields& f) { describe(f, config.data); });
  describe_augment(fields, config.augment);
  fields.section("training", [&](Fields& f) { describe(f, config.training); });
}

}  // namespace headrace::inline v1::app
