#include <headrace/apps/jobs/training_tags.h>

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

}  // namespace headrace::inline v1::app
