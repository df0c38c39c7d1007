#include <headrace/engine/base/error.h>
#include <headrace/training/stage/detail/refuse_stage.h>
#include <headrace/training/stage/stage.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace headrace::inline v1::training {

namespace {

using detail::refuse;

void require(bool holds, const Stage& stage, const char* rule, double got) {
  if (!holds) refuse(stage, std::string(rule) + ", got " + std::to_string(got));
}

void require_counts(const Stage& stage) {
  const auto count = [&](const char* rule, std::int64_t value, std::int64_t least) {
    require(value >= least, stage, rule, static_cast<double>(value));
  };
  count("epochs must be at least 1", stage.epochs, 1);
  count("accumulation must be at least 1", stage.accumulation, 1);
  count("batch must be at least 1", stage.batch, 1);
  count("evaluation_batch must not be negative", stage.evaluation_batch, 0);
  count("steps_per_epoch must not be negative", stage.steps_per_epoch, 0);
}

void require_changes(const Stage& stage) {
  const auto& changes = stage.unfreeze;
  if (std::ranges::adjacent_find(changes, std::ranges::greater_equal{}, &Unfreeze::at) !=
      changes.end())
    refuse(stage, "unfreeze: its epochs must rise, they do not");
  for (const Unfreeze& change : changes) {
    require(change.at >= 1, stage, "unfreeze at must be an epoch behind the first",
            static_cast<double>(change.at));
    require(change.at < stage.epochs, stage, "unfreeze at must be below the stage's epochs",
            static_cast<double>(change.at));
    require(change.warmup >= 0, stage, "unfreeze warmup must not be negative",
            static_cast<double>(change.warmup));
    require(change.rate_factor >= 0.0, stage, "unfreeze rate_factor must not be negative",
            change.rate_factor);
  }
}

void require_schedule(const Stage& stage) {
  const SchedulePlace start{.update = 0, .steps_per_epoch = 1, .epochs = stage.epochs};
  try {
    rate_at(stage.schedule, stage.optimizer.learning_rate, start);
  } catch (const ConfigError& error) {
    refuse(stage, error.what());
  }
  if (const auto* cycle = std::get_if<OneCycleRate>(&stage.schedule)) {
    require(cycle->pct > 0.0 && cycle->pct < 1.0, stage, "one-cycle: pct must lie in (0, 1)",
            cycle->pct);
    require(cycle->div >= 1.0, stage, "one-cycle: div must be at least 1", cycle->div);
    require(cycle->final_div >= 1.0, stage, "one-cycle: final_div must be at least 1",
            cycle->final_div);
  }
  if (const auto* polynomial = std::get_if<PolynomialRate>(&stage.schedule))
    require(polynomial->power > 0.0, stage, "polynomial: power must be above 0", polynomial->power);
  if (const auto* plateau = std::get_if<PlateauOptions>(&stage.schedule))
    plateau_after(*plateau, {}, 0.0);  // throws for what it cannot go by
  if (const auto* step = std::get_if<StepRate>(&stage.schedule)) {
    require(step->every >= 1, stage, "schedule step: every must be at least 1",
            static_cast<double>(step->every));
    require(step->factor > 0.0, stage, "schedule step: factor must be above 0", step->factor);
    if (std::ranges::adjacent_find(step->at, std::ranges::greater_equal{}) != step->at.end())
      refuse(stage, "schedule step: the epochs in at must rise, they do not");
  }
  const auto* cycle = std::get_if<OneCycleRate>(&stage.schedule);
  if (cycle == nullptr || !cycle->cycle_momentum) return;
  const auto share = [](double value) { return value > 0.0 && value < 1.0; };
  require(share(cycle->low_momentum), stage, "low_momentum must lie in (0, 1)",
          cycle->low_momentum);
  require(share(cycle->high_momentum), stage, "high_momentum must lie in (0, 1)",
          cycle->high_momentum);
  const auto* sgd = std::get_if<SgdRule>(&stage.optimizer.rule);
  if (sgd != nullptr && sgd->momentum == 0.0)
    refuse(stage, "cycle_momentum needs an optimiser with momentum, sgd has 0");
}

void require_non_finite(const Stage& stage) {
  if (const auto* skip = std::get_if<SkipStep>(&stage.non_finite))
    require(skip->in_a_row >= 1, stage, "non_finite skip: in_a_row must be at least 1",
            skip->in_a_row);
  if (const auto* reload = std::get_if<ReloadCheckpoint>(&stage.non_finite)) {
    require(reload->times >= 1, stage, "non_finite reload: times must be at least 1",
            reload->times);
    require(reload->factor > 0.0 && reload->factor <= 1.0, stage,
            "non_finite reload: factor must lie in (0, 1]", reload->factor);
  }
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

// Of a frozen parameter the first change that unfreezes it; behind all where it stays frozen.
std::size_t change_of(const Stage& stage, const std::string& name) {
  const auto found = std::ranges::find_if(stage.unfreeze, [&](const Unfreeze& change) {
    return models::fits_any(name, change.patterns);
  });
  return static_cast<std::size_t>(found - stage.unfreeze.begin());
}

void require_patterns(const Stage& stage, const models::NamedTensors& parameters) {
  for (const std::string& pattern : stage.frozen)
    require_used(stage, pattern, parameters);
  for (std::size_t rule = 0; rule < stage.groups.size(); ++rule) {
    const std::string& pattern = stage.groups[rule].pattern;
    require_used(stage, pattern, parameters);
    const auto first_to_fit = [&](const models::NamedTensor& one) {
      return rule_of(stage, one.name) == rule;
    };
    if (std::ranges::none_of(parameters, first_to_fit))
      refuse(stage, "group \"" + pattern +
                        "\" must fit a parameter that no group before it fits, the groups before "
                        "take all of them; put it first");
  }
  for (std::size_t i = 0; i < stage.unfreeze.size(); ++i) {
    for (const std::string& pattern : stage.unfreeze[i].patterns)
      require_used(stage, pattern, parameters);
    const bool changes = std::ranges::any_of(parameters, [&](const models::NamedTensor& one) {
      return models::fits_any(one.name, stage.frozen) && change_of(stage, one.name) == i;
    });
    if (!changes)
      refuse(stage, "unfreeze at epoch " + std::to_string(stage.unfreeze[i].at) +
                        " must unfreeze a parameter that frozen names, its patterns fit none");
  }
}

std::vector<ParameterGroup> grouped(const Stage& stage, const models::NamedTensors& trained,
                                    const ParameterGroup& like) {
  std::vector<models::NamedTensors> by_rule(stage.groups.size() + 1);
  for (const models::NamedTensor& parameter : trained)
    by_rule[rule_of(stage, parameter.name)].push_back(parameter);
  std::vector<ParameterGroup> groups;
  for (std::size_t rule = 0; rule < by_rule.size(); ++rule) {
    OptimizerOptions options = stage.optimizer;
    ParameterGroup settings = like;
    if (rule < stage.groups.size()) {
      settings.rate_factor *= stage.groups[rule].rate_factor;
      if (stage.groups[rule].weight_decay) {
        options.weight_decay = *stage.groups[rule].weight_decay;
        options.decay_vectors = true;
      }
    }
    for (ParameterGroup& group : groups_by_decay(by_rule[rule], options, settings))
      groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

void check(const Stage& stage) {
  require_counts(stage);
  require_changes(stage);
  require_schedule(stage);
  require_non_finite(stage);
  try {
    check(stage.optimizer);
  } catch (const ConfigError& error) {
    refuse(stage, error.what());
  }
  require(stage.clip_norm >= 0.0, stage, "clip_norm must not be negative", stage.clip_norm);
  require(stage.ema >= 0.0 && stage.ema < 1.0, stage, "ema must lie in [0, 1)", stage.ema);
  if (stage.early_stopping) early_stopping_after(*stage.early_stopping, {}, 0.0);
  if (stage.cudnn_benchmark && stage.deterministic)
    refuse(stage, "cudnn_benchmark and deterministic exclude each other; set one to false");
}

std::vector<ParameterGroup> parameter_groups(const Stage& stage,
                                             const models::NamedTensors& parameters) {
  require_patterns(stage, parameters);
  models::NamedTensors trained;
  for (const models::NamedTensor& parameter : parameters) {
    const bool frozen = models::fits_any(parameter.name, stage.frozen);
    parameter.tensor.requires_grad_(!frozen);
    if (!frozen) trained.push_back(parameter);
  }
  std::vector<ParameterGroup> groups = grouped(stage, trained, {});
  if (groups.empty()) refuse(stage, "frozen must leave a parameter to train, got all of them");
  return groups;
}

std::vector<ParameterGroup> unfreeze(const Stage& stage, std::size_t change,
                                     const models::NamedTensors& parameters, std::int64_t since) {
  models::NamedTensors trained;
  for (const models::NamedTensor& parameter : parameters) {
    if (!models::fits_any(parameter.name, stage.frozen) ||
        change_of(stage, parameter.name) != change)
      continue;
    parameter.tensor.requires_grad_(true);
    trained.push_back(parameter);
  }
  const Unfreeze& asked = stage.unfreeze.at(change);
  return grouped(stage, trained,
                 {.rate_factor = asked.rate_factor, .warmup = asked.warmup, .since = since});
}

}  // namespace headrace::inline v1::training
