#include <headrace/engine/base/error.h>
#include <headrace/training/stage.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace headrace::inline v1::training {

namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

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
  require(stage.clip_norm >= 0.0, stage, "clip_norm must not be negative", stage.clip_norm);
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

const char* name_of(const Schedule& schedule) {
  constexpr std::array names{"constant", "cosine", "one-cycle", "polynomial", "plateau"};
  return names.at(schedule.index());
}

std::function<double(std::int64_t)> rate_of(const Schedule& schedule, double learning_rate,
                                            std::int64_t steps_per_epoch, std::int64_t epochs) {
  const std::int64_t total = steps_per_epoch * epochs;
  using Rate = std::function<double(std::int64_t)>;
  return std::visit(
      Cases{[](const ConstantRate&) { return Rate{}; },
            [](const PlateauOptions&) { return Rate{}; },
            [&](const CosineRate& given) {
              const WarmupCosineOptions options{.base = learning_rate,
                                                .lowest = given.lowest,
                                                .warmup = given.warmup_epochs * steps_per_epoch,
                                                .warmup_start = given.warmup_start,
                                                .total = total};
              warmup_cosine(options, 0);
              return Rate([options](std::int64_t step) { return warmup_cosine(options, step); });
            },
            [&](const OneCycleRate& given) {
              const OneCycleOptions options{.max = learning_rate,
                                            .total = total,
                                            .pct = given.pct,
                                            .div = given.div,
                                            .final_div = given.final_div};
              return Rate([options](std::int64_t step) { return one_cycle(options, step); });
            },
            [&](const PolynomialRate& given) {
              return Rate([=, power = given.power](std::int64_t step) {
                return polynomial(learning_rate, total, step, power);
              });
            }},
      schedule);
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

bool fits_pattern(const std::string& name, const std::string& pattern) {
  std::size_t place = 0;
  for (std::size_t first = 0; first <= pattern.size();) {
    const std::size_t star = std::min(pattern.find('*', first), pattern.size());
    const std::size_t found = name.find(pattern.substr(first, star - first), place);
    if (found == std::string::npos) return false;
    place = found + (star - first);
    first = star + 1;
  }
  return true;
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
