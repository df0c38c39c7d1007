#include <headrace/apps/jobs/training_settings.h>
#include <headrace/engine/base/error.h>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

using training::ConstantRate;
using training::CosineRate;
using training::OneCycleRate;
using training::PlateauOptions;
using training::PolynomialRate;
using training::Schedule;

void describe_cosine(Fields& fields, CosineRate& rate) {
  fields.key("warmup_epochs", rate.warmup_epochs, {.doc = "with a rising rate", .min = 0.0});
  fields.key("lowest", rate.lowest, {.doc = "rate at the last step", .min = 0.0});
  fields.key("warmup_start", rate.warmup_start,
             {.doc = "share of the rate at the first step", .min = 0.0, .max = 1.0});
}

void describe_one_cycle(Fields& fields, OneCycleRate& rate) {
  fields.key("pct", rate.pct,
             {.doc = "share of the steps with a rising rate", .above = 0.0, .below = 1.0});
  fields.key("div", rate.div, {.doc = "highest rate by the first", .min = 1.0});
  fields.key("final_div", rate.final_div, {.doc = "first rate by the last", .min = 1.0});
}

void describe_polynomial(Fields& fields, PolynomialRate& rate) {
  fields.key("power", rate.power, {.doc = "of the steps that are left", .above = 0.0});
}

void describe_plateau(Fields& fields, PlateauOptions& rate) {
  fields.key("factor", rate.factor,
             {.doc = "of the rate when the validation loss stays", .above = 0.0, .below = 1.0});
  fields.key("patience", rate.patience, {.doc = "epochs that are let pass before", .min = 0.0});
  fields.key("threshold", rate.threshold,
             {.doc = "share that a lower loss is lower by", .min = 0.0, .below = 1.0});
  fields.key("cooldown", rate.cooldown,
             {.doc = "epochs behind a reduction that do not count", .min = 0.0});
  fields.key("lowest", rate.lowest, {.doc = "rate that is not gone below", .min = 0.0});
}

void describe_rate(Fields& fields, TrainingSettings& training) {
  fields.key("learning_rate", training.learning_rate,
             {.doc = "of AdamW; the highest of a schedule", .above = 0.0});
  fields.key("weight_decay", training.weight_decay, {.doc = "of AdamW", .min = 0.0, .max = 1.0});
  fields.tagged(
      "schedule", training.schedule,
      std::vector<Tag<Schedule>>{
          alternative<ConstantRate, Schedule>("constant", "", {}, "the same at every step"),
          alternative<CosineRate, Schedule>("cosine", "warmup_epochs", describe_cosine,
                                            "rises, then falls along half a cosine"),
          alternative<OneCycleRate, Schedule>("one-cycle", "pct", describe_one_cycle,
                                              "rises and falls along cosines"),
          alternative<PolynomialRate, Schedule>("polynomial", "power", describe_polynomial,
                                                "falls to 0 as a power of the steps that are left"),
          alternative<PlateauOptions, Schedule>("plateau", "factor", describe_plateau,
                                                "falls when the validation loss stays")},
      {.doc = "of the learning rate"});
}

void describe_device(Fields& fields, TrainingSettings& training) {
  fields.choice("precision", training.precision,
                {{"fp32", training::Precision::fp32}, {"bf16", training::Precision::bf16}},
                {.doc = "of the forward pass"});
  fields.key("channels_last", training.channels_last, {.doc = "memory layout of the network"});
  fields.key("cudnn_benchmark", training.cudnn_benchmark,
             {.doc = "cuDNN tries its algorithms for each shape; runs are then not repeatable"});
}

}  // namespace

void describe(Fields& fields, TrainingSettings& training) {
  fields.key("epochs", training.epochs, {.doc = "at most", .min = 1.0, .max = 100000.0});
  fields.key("batch", training.batch, {.doc = "samples at once", .min = 1.0, .max = 1e6});
  fields.key("evaluation_batch", training.evaluation_batch,
             {.doc = "samples at once in evaluation", .min = 1.0, .max = 1e6});
  fields.key("accumulation", training.accumulation,
             {.doc = "batches of a step", .min = 1.0, .max = 1e6});
  describe_rate(fields, training);
  fields.key("clip", training.clip, {.doc = "largest norm of all gradients; 0: none", .min = 0.0});
  describe_device(fields, training);
  fields.key("early_stopping", training.early_stopping,
             {.doc = "epochs without a better figure of the validation; 0: never", .min = 0.0});
  fields.key("min_delta", training.min_delta,
             {.doc = "that a figure must be better by to begin these epochs anew", .min = 0.0});
  fields.key("checkpoint_every", training.checkpoint_every,
             {.doc = "steps between checkpoints inside an epoch; 0: none", .min = 0.0});
  fields.key("member", training.member,
             {.doc = "train only this one (fold, pair); null: all", .min = 0.0});
}

void check(const TrainingSettings& training) {
  const auto* cosine = std::get_if<CosineRate>(&training.schedule);
  if (cosine != nullptr && cosine->warmup_epochs > training.epochs)
    throw ConfigError(fmt::format(
        "[config] training.schedule: warmup_epochs must not be above training.epochs = {}, got {}; "
        "lower it: training.schedule.cosine.warmup_epochs=0",
        training.epochs, cosine->warmup_epochs));
}

}  // namespace headrace::inline v1::app
