#include <headrace/apps/job/training_settings.h>
#include <headrace/apps/task/task_settings.h>
#include <headrace/engine/base/error.h>

#include <utility>

#include <fmt/format.h>

namespace headrace::inline v1::app {
namespace {

void describe_cosine(Fields& fields, training::CosineRate& rate) {
  fields.key("warmup_epochs", rate.warmup_epochs, {.doc = "with a rising rate", .min = 0.0});
  fields.key("lowest", rate.lowest, {.doc = "rate at the last step", .min = 0.0});
  fields.key("warmup_start", rate.warmup_start,
             {.doc = "share of the rate at the first step", .min = 0.0, .max = 1.0});
}

void describe_one_cycle(Fields& fields, training::OneCycleRate& rate) {
  fields.key("pct", rate.pct,
             {.doc = "share of the steps with a rising rate", .above = 0.0, .below = 1.0});
  fields.key("div", rate.div, {.doc = "highest rate by the first", .min = 1.0});
  fields.key("final_div", rate.final_div, {.doc = "first rate by the last", .min = 1.0});
  fields.key("cycle_momentum", rate.cycle_momentum,
             {.doc = "the momentum (beta1 of adamw and adam) falls while the rate rises"});
  const auto of_cycle = [&](std::string doc) {
    return KeyOptions{.doc = std::move(doc),
                      .above = 0.0,
                      .below = 1.0,
                      .used_if = [&rate] { return rate.cycle_momentum; },
                      .used_when = "cycle_momentum is true"};
  };
  fields.key("low_momentum", rate.low_momentum, of_cycle("where the rate is highest"));
  fields.key("high_momentum", rate.high_momentum, of_cycle("at both ends"));
}

void describe_polynomial(Fields& fields, training::PolynomialRate& rate) {
  fields.key("power", rate.power, {.doc = "of the steps that are left", .above = 0.0});
}

void describe_step(Fields& fields, training::StepRate& rate) {
  fields.key("every", rate.every, {.doc = "epochs", .min = 1.0});
  fields.key("at", rate.at, {.doc = "epochs, in place of every; []: every", .min = 1.0});
  fields.key("factor", rate.factor, {.doc = "of the rate each time", .above = 0.0});
}

void describe_plateau(Fields& fields, training::PlateauOptions& rate) {
  fields.key("figure", rate.figure, {.doc = "of the validation"});
  fields.choice("goal", rate.goal,
                {{"lower", training::Goal::minimum}, {"higher", training::Goal::maximum}},
                {.doc = "which way the figure gets better"});
  fields.key("factor", rate.factor,
             {.doc = "of the rate when the figure stays", .above = 0.0, .below = 1.0});
  fields.key("patience", rate.patience, {.doc = "epochs that are let pass before", .min = 0.0});
  fields.key("threshold", rate.threshold,
             {.doc = "share that a better figure is better by", .min = 0.0, .below = 1.0});
  fields.key("cooldown", rate.cooldown,
             {.doc = "epochs behind a reduction that do not count", .min = 0.0});
  fields.key("lowest", rate.lowest, {.doc = "rate that is not gone below", .min = 0.0});
}

template <class Adam>
void describe_adam(Fields& fields, Adam& rule) {
  fields.key("beta1", rule.beta1, {.doc = "of the mean gradient", .min = 0.0, .below = 1.0});
  fields.key("beta2", rule.beta2, {.doc = "of the mean square gradient", .min = 0.0, .below = 1.0});
  fields.key("epsilon", rule.epsilon, {.doc = "beside its root", .above = 0.0});
}

void describe_sgd(Fields& fields, training::SgdRule& rule) {
  fields.key("momentum", rule.momentum, {.doc = "of the buffer", .min = 0.0, .below = 1.0});
  fields.key("nesterov", rule.nesterov, {.doc = "looks one step ahead"});
}

void describe_skip(Fields& fields, training::SkipStep& skip) {
  fields.key("in_a_row", skip.in_a_row, {.doc = "so many of them end the run", .min = 1.0});
}

void describe_reload(Fields& fields, training::ReloadCheckpoint& reload) {
  fields.key("factor", reload.factor,
             {.doc = "of all rates from there on", .above = 0.0, .max = 1.0});
  fields.key("times", reload.times, {.doc = "in a stage; then the run ends", .min = 1.0});
}

}  // namespace

std::vector<Tag<training::OptimizerRule>> optimizer_tags() {
  return {alternative<training::AdamWRule, training::OptimizerRule>(
              "adamw", "", describe_adam<training::AdamWRule>,
              "Adam, with a decay beside the gradient"),
          alternative<training::AdamRule, training::OptimizerRule>(
              "adam", "", describe_adam<training::AdamRule>,
              "Adam, with a decay that is a part of the gradient"),
          alternative<training::SgdRule, training::OptimizerRule>("sgd", "momentum", describe_sgd,
                                                                  "stochastic gradient descent")};
}

std::vector<Tag<training::Schedule>> schedule_tags() {
  return {
      alternative<training::ConstantRate, training::Schedule>("constant", "", {},
                                                              "the same at every step"),
      alternative<training::CosineRate, training::Schedule>(
          "cosine", "warmup_epochs", describe_cosine, "rises, then falls along half a cosine"),
      alternative<training::OneCycleRate, training::Schedule>(
          "one-cycle", "pct", describe_one_cycle, "rises and falls along cosines"),
      alternative<training::PolynomialRate, training::Schedule>(
          "polynomial", "power", describe_polynomial,
          "falls to 0 as a power of the steps that are left"),
      alternative<training::StepRate, training::Schedule>("step", "every", describe_step,
                                                          "falls by a factor at some epochs"),
      alternative<training::PlateauOptions, training::Schedule>(
          "plateau", "factor", describe_plateau, "falls when a figure of the validation stays")};
}

std::vector<Tag<training::NonFinitePolicy>> non_finite_tags() {
  return {
      alternative<training::SkipStep, training::NonFinitePolicy>(
          "skip", "in_a_row", describe_skip, "the step changes nothing and is counted"),
      alternative<training::ReloadCheckpoint, training::NonFinitePolicy>(
          "reload", "factor", describe_reload,
          "the run goes back to its newest checkpoint, with lower rates"),
      alternative<training::AbortRun, training::NonFinitePolicy>("abort", "", {}, "the run ends")};
}

namespace {

void describe_group(Fields& fields, training::GroupRule& group) {
  fields.key("pattern", group.pattern,
             {.doc = "parts of the names of its parameters (* for anything)", .required = true});
  fields.key("rate_factor", group.rate_factor, {.doc = "of the learning rate", .min = 0.0});
  fields.key("weight_decay", group.weight_decay,
             {.doc = "null: training.weight_decay", .min = 0.0});
}

void describe_unfreeze(Fields& fields, training::Unfreeze& change) {
  fields.key("at", change.at, {.doc = "epoch, from 0, that trains them first", .min = 1.0});
  fields.key("patterns", change.patterns,
             {.doc = "parts of the names of frozen parameters", .required = true});
  fields.key("rate_factor", change.rate_factor, {.doc = "of their learning rate", .min = 0.0});
  fields.key("warmup", change.warmup, {.doc = "steps over which their rate rises", .min = 0.0});
}

void describe_rate(Fields& fields, TrainingSettings& training) {
  fields.tagged("optimizer", training.optimizer, optimizer_tags(), {.doc = "what the steps are"});
  fields.key("learning_rate", training.learning_rate,
             {.doc = "of the optimiser; the highest of a schedule", .above = 0.0});
  fields.key(
      "weight_decay", training.weight_decay,
      {.doc = "of adamw beside the gradient, of the others a part of it", .min = 0.0, .max = 1.0});
  fields.key("decay_vectors", training.decay_vectors,
             {.doc = "weight decay of biases and of scales and shifts of norms, too"});
  fields.list_of<training::GroupRule>(
      "groups", training.groups, describe_group,
      {.doc = "parameters with a rate or a decay of their own; the first that fits counts"});
  fields.tagged("schedule", training.schedule, schedule_tags(), {.doc = "of the learning rate"});
}

void describe_weights(Fields& fields, TrainingSettings& training) {
  fields.key("ema", training.ema,
             {.doc = "decay of averaged weights, which are then evaluated and kept; 0: none",
              .min = 0.0,
              .below = 1.0});
  fields.key("frozen_norms", training.frozen_norms,
             {.doc = "norms keep their running statistics and go by them, as those of frozen parts "
                     "always do"});
  fields.list_of<training::Unfreeze>(
      "unfreeze", training.unfreeze, describe_unfreeze,
      {.doc = "frozen parameters that are trained from an epoch on; the schedule goes on"});
  fields.key("checkpointed", training.checkpointed,
             {.doc = "blocks whose activations are made again in the backward pass, by parts of "
                     "their names: less memory, more time"});
}

void describe_device(Fields& fields, TrainingSettings& training) {
  using training::Precision;
  fields.choice("precision", training.precision,
                {{"fp32", Precision::fp32},
                 {"tf32", Precision::tf32},
                 {"bf16", Precision::bf16},
                 {"fp16", Precision::fp16}},
                {.doc = "of the forward pass; tf32 is fp32 without a GPU of 8.0 or later, fp16 "
                        "scales the loss"});
  fields.key("channels_last", training.channels_last, {.doc = "memory layout of the network"});
  fields.key("cudnn_benchmark", training.cudnn_benchmark,
             {.doc = "cuDNN tries its algorithms for each shape; runs are then not repeatable"});
  fields.key("deterministic", training.deterministic,
             {.doc = "a GPU's operations give the same bits every time, or refuse"});
}

}  // namespace

void describe(Fields& fields, TrainingSettings& training) {
  const auto of_stage = [&](std::string doc) {
    return KeyOptions{.doc = std::move(doc),
                      .used_if = [&training] { return training.in_stage; },
                      .used_when = "training.stages has it in one of its entries"};
  };
  const auto of_all = [&](KeyOptions options) {
    options.used_if = [&training] { return !training.in_stage; };
    options.used_when = "training says it for all stages";
    return options;
  };
  fields.maps("stages", training.stages,
              of_all({.doc = "trained one after the other on one network, each with keys of this "
                             "section, and `augment`, `loss` and `frozen` (model.frozen), that "
                             "differ in it"}));
  fields.key("name", training.name, of_stage("of a stage"));
  fields.choice("start", training.start,
                {{"last", training::StartFrom::last}, {"best", training::StartFrom::best}},
                of_stage("weights of the stage before that a stage begins with"));
  fields.key(
      "keep_moments", training.keep_moments,
      of_stage("the optimiser goes on with what it knows of parameters that the stage before "
               "trained, too"));
  fields.key("epochs", training.epochs, {.doc = "at most", .min = 1.0, .max = 100000.0});
  fields.key("batch", training.batch, {.doc = "samples at once", .min = 1.0, .max = 1e6});
  fields.key("evaluation_batch", training.evaluation_batch,
             {.doc = "samples at once in evaluation", .min = 1.0, .max = 1e6});
  fields.key("accumulation", training.accumulation,
             {.doc = "batches of a step", .min = 1.0, .max = 1e6});
  describe_rate(fields, training);
  fields.key("clip", training.clip, {.doc = "largest norm of all gradients; 0: none", .min = 0.0});
  describe_weights(fields, training);
  describe_device(fields, training);
  fields.key("early_stopping", training.early_stopping,
             {.doc = "epochs without a better figure of the validation; 0: never", .min = 0.0});
  fields.key("min_delta", training.min_delta,
             {.doc = "that a figure must be better by to begin these epochs anew", .min = 0.0});
  fields.key("stop_at", training.stop_at,
             {.doc = "the figure that selects ends the stage once it is that good; null: it does "
                     "not"});
  fields.tagged("non_finite", training.non_finite, non_finite_tags(),
                {.doc = "what a loss or gradients that are not finite lead to"});
  fields.key("checkpoint_every", training.checkpoint_every,
             of_all({.doc = "steps between checkpoints inside an epoch; 0: none", .min = 0.0}));
  fields.key("member", training.member,
             of_all({.doc = "train only this one (fold, pair); null: all", .min = 0.0}));
}

void check(const TrainingSettings& training) {
  const auto* cosine = std::get_if<training::CosineRate>(&training.schedule);
  if (cosine != nullptr && cosine->warmup_epochs > training.epochs)
    throw ConfigError(fmt::format(
        "[config] training.schedule: warmup_epochs must not be above training.epochs = {}, got {}; "
        "lower it: training.schedule.cosine.warmup_epochs=0",
        training.epochs, cosine->warmup_epochs));
  if (training.cudnn_benchmark && training.deterministic)
    throw ConfigError(
        "[config] training.cudnn_benchmark takes whichever algorithm was fastest in a trial, "
        "training.deterministic the same one every time; set one of them to false");
}

void check_plateau(const TrainingSettings& training, std::span<const std::string> figures) {
  const auto* plateau = std::get_if<training::PlateauOptions>(&training.schedule);
  if (plateau == nullptr) return;
  if (!figures.empty()) check_figure("training.schedule.plateau.figure", plateau->figure, figures);
  const bool loss = plateau->figure.starts_with("loss");
  if (loss == (plateau->goal == training::Goal::minimum) || (!loss && figures.empty())) return;
  throw ConfigError(fmt::format(
      "[config] training.schedule: {} gets better {}, but the plateau's goal is {}; set "
      "training.schedule.plateau.goal={}",
      plateau->figure, loss ? "downwards" : "upwards", loss ? "higher" : "lower",
      loss ? "lower" : "higher"));
}

}  // namespace headrace::inline v1::app
