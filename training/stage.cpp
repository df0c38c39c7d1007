#include <headrace/engine/base/error.h>
#include <headrace/training/stage.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace headrace::inline v1::training {

namespace {

[[noreturn]] void refuse(const Stage& stage, const std::string& rule) {
  throw ConfigError("[stage " + stage.name + "] " + rule);
}

void require(bool holds, const Stage& stage, const char* rule, double got) {
  if (!holds) refuse(stage, std::string(rule) + ", got " + std::to_string(got));
}

void require_ranges(const Stage& stage) {
  const auto count = [&](const char* rule, std::int64_t value, std::int64_t least) {
    require(value >= least, stage, rule, static_cast<double>(value));
  };
  count("epochs must be at least 1", stage.epochs, 1);
  count("accumulation must be at least 1", stage.accumulation, 1);
  count("batch must be at least 1", stage.batch, 1);
  count("evaluation_batch must not be negative", stage.evaluation_batch, 0);
  count("steps_per_epoch must not be negative", stage.steps_per_epoch, 0);
  const auto not_negative = [&](const char* rule, double value) {
    require(value >= 0.0, stage, rule, value);
  };
  not_negative("clip_norm must not be negative", stage.clip_norm);
  not_negative("learning_rate must not be negative", stage.optimizer.learning_rate);
  not_negative("weight_decay must not be negative", stage.optimizer.weight_decay);
  if (stage.early_stopping)
    early_stopping_after(*stage.early_stopping, {}, 0.0);  // throws for what it cannot go by
  if (const auto* plateau = std::get_if<PlateauOptions>(&stage.schedule))
    plateau_after(*plateau, {}, 0.0);
}

std::string word(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string listed(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& one : words)
    list += (list.empty() ? "" : ", ") + one;
  return list;
}

template <class... F>
struct Choice : F... {
  using F::operator()...;
};

std::string words_of(const Schedule& schedule) {
  const std::string numbers = std::visit(
      Choice{[](const ConstantRate&) { return std::string(); },
             [](const CosineRate& cosine) {
               return listed({std::to_string(cosine.warmup_epochs), word(cosine.lowest),
                              word(cosine.warmup_start)});
             },
             [](const OneCycleRate& cycle) {
               return listed({word(cycle.pct), word(cycle.div), word(cycle.final_div)});
             },
             [](const PolynomialRate& polynomial) { return word(polynomial.power); },
             [](const PlateauOptions& plateau) {
               return listed({plateau.figure, plateau.goal == Goal::maximum ? "up" : "down",
                              word(plateau.factor), std::to_string(plateau.patience),
                              word(plateau.threshold), std::to_string(plateau.cooldown),
                              word(plateau.lowest)});
             }},
      schedule);
  return name_of(schedule) + (numbers.empty() ? "" : " (" + numbers + ")");
}

std::string words_of(const std::vector<GroupRule>& groups) {
  std::vector<std::string> rules;
  rules.reserve(groups.size());
  for (const GroupRule& group : groups)
    rules.push_back(group.pattern + " x " + word(group.rate_factor) +
                    (group.weight_decay ? " decay " + word(*group.weight_decay) : ""));
  return listed(rules);
}

// The index of the first rule that fits; behind all rules where none does.
std::size_t rule_of(const Stage& stage, const std::string& name) {
  const auto found = std::ranges::find_if(
      stage.groups, [&](const GroupRule& rule) { return fits_pattern(name, rule.pattern); });
  return static_cast<std::size_t>(found - stage.groups.begin());
}

void require_used(const Stage& stage, const std::string& pattern,
                  const models::NamedTensors& parameters) {
  const bool used = std::ranges::any_of(parameters, [&](const models::NamedTensor& parameter) {
    return fits_pattern(parameter.name, pattern);
  });
  if (!used)
    refuse(stage, "each pattern must fit a parameter, got \"" + pattern +
                      "\" that fits none; the first is \"" + parameters.front().name + "\"");
}

bool is_frozen(const Stage& stage, const std::string& name) {
  return std::ranges::any_of(
      stage.frozen, [&](const std::string& pattern) { return fits_pattern(name, pattern); });
}

}  // namespace

std::map<std::string, std::string> identity_of(const Stage& stage) {
  const AdamWOptions& adamw = stage.optimizer;
  return {{"stage", stage.name},
          {"stage.epochs", std::to_string(stage.epochs)},
          {"stage.steps_per_epoch", std::to_string(stage.steps_per_epoch)},
          {"stage.batch", std::to_string(stage.batch)},
          {"stage.accumulation", std::to_string(stage.accumulation)},
          {"stage.optimizer", listed({word(adamw.learning_rate), word(adamw.weight_decay),
                                      word(adamw.beta1), word(adamw.beta2), word(adamw.epsilon),
                                      adamw.decay_vectors ? "vectors too" : "no vectors"})},
          {"stage.groups", words_of(stage.groups)},
          {"stage.frozen", listed(stage.frozen)},
          {"stage.schedule", words_of(stage.schedule)},
          {"stage.precision", std::to_string(static_cast<int>(stage.precision))},
          {"stage.clip_norm", word(stage.clip_norm)},
          {"stage.start", stage.start == StartFrom::best ? "best" : "last"},
          {"stage.channels_last", stage.channels_last ? "true" : "false"}};
}

void require_known(const Stage& stage) {
  require_ranges(stage);
  const std::array<std::pair<const char*, bool>, 4> unknown{
      {{"frozen_norms", stage.frozen_norms},
       {"ema", stage.ema != 0.0},
       {"checkpointed", !stage.checkpointed.empty()},
       {"unfreeze", !stage.unfreeze.empty()}}};
  for (const auto& [name, asked] : unknown)
    if (asked) refuse(stage, std::string(name) + " is not there yet; leave it out");
}

std::vector<ParameterGroup> parameter_groups(const Stage& stage,
                                             const models::NamedTensors& parameters) {
  for (const std::string& pattern : stage.frozen)
    require_used(stage, pattern, parameters);
  for (const GroupRule& rule : stage.groups)
    require_used(stage, rule.pattern, parameters);

  std::vector<models::NamedTensors> by_rule(stage.groups.size() + 1);
  for (const models::NamedTensor& parameter : parameters) {
    const bool frozen = is_frozen(stage, parameter.name);
    parameter.tensor.requires_grad_(!frozen);
    if (!frozen) by_rule[rule_of(stage, parameter.name)].push_back(parameter);
  }

  std::vector<ParameterGroup> groups;
  for (std::size_t rule = 0; rule < by_rule.size(); ++rule) {
    AdamWOptions options = stage.optimizer;
    double factor = 1.0;
    if (rule < stage.groups.size()) {
      factor = stage.groups[rule].rate_factor;
      options.weight_decay = stage.groups[rule].weight_decay.value_or(options.weight_decay);
    }
    for (ParameterGroup& group : groups_by_decay(by_rule[rule], options, factor))
      groups.push_back(std::move(group));
  }
  if (groups.empty()) refuse(stage, "frozen must leave a parameter to train, got all of them");
  return groups;
}

}  // namespace headrace::inline v1::training
