#include <headrace/training/stage/stage.h>

#include <array>
#include <cstdio>

namespace headrace::inline v1::training {

namespace {

std::string word(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string word(bool value) {
  return value ? "true" : "false";
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

std::string named(const std::string& name, const std::string& numbers) {
  return name + (numbers.empty() ? "" : " (" + numbers + ")");
}

std::string words_of(const OptimizerOptions& options) {
  const auto adam = [](const auto& rule) {
    return listed({word(rule.beta1), word(rule.beta2), word(rule.epsilon)});
  };
  const std::string numbers =
      std::visit(Choice{[&](const AdamWRule& rule) { return adam(rule); },
                        [&](const AdamRule& rule) { return adam(rule); },
                        [](const SgdRule& rule) {
                          return listed({word(rule.momentum), word(rule.nesterov)});
                        }},
                 options.rule);
  return listed({named(name_of(options.rule), numbers), word(options.learning_rate),
                 word(options.weight_decay), options.decay_vectors ? "vectors too" : "no vectors"});
}

std::string words_of(const StepRate& step) {
  std::vector<std::string> words{std::to_string(step.every), word(step.factor)};
  for (const std::int64_t at : step.at)
    words.push_back("at " + std::to_string(at));
  return listed(words);
}

std::string words_of(const Schedule& schedule) {
  const std::string numbers = std::visit(
      Choice{[](const ConstantRate&) { return std::string(); },
             [](const CosineRate& cosine) {
               return listed({std::to_string(cosine.warmup_epochs), word(cosine.lowest),
                              word(cosine.warmup_start)});
             },
             [](const OneCycleRate& cycle) {
               return listed({word(cycle.pct), word(cycle.div), word(cycle.final_div),
                              word(cycle.cycle_momentum), word(cycle.low_momentum),
                              word(cycle.high_momentum)});
             },
             [](const PolynomialRate& polynomial) { return word(polynomial.power); },
             [](const StepRate& step) { return words_of(step); },
             [](const PlateauOptions& plateau) {
               return listed({plateau.figure, plateau.goal == Goal::maximum ? "up" : "down",
                              word(plateau.factor), std::to_string(plateau.patience),
                              word(plateau.threshold), std::to_string(plateau.cooldown),
                              word(plateau.lowest)});
             }},
      schedule);
  return named(name_of(schedule), numbers);
}

std::string words_of(const std::vector<GroupRule>& groups) {
  std::vector<std::string> rules;
  rules.reserve(groups.size());
  for (const GroupRule& group : groups)
    rules.push_back(group.pattern + " x " + word(group.rate_factor) +
                    (group.weight_decay ? " decay " + word(*group.weight_decay) : ""));
  return listed(rules);
}

std::string words_of(const std::vector<Unfreeze>& changes) {
  std::vector<std::string> words;
  words.reserve(changes.size());
  for (const Unfreeze& change : changes)
    words.push_back(std::to_string(change.at) + ": " + listed(change.patterns) + " x " +
                    word(change.rate_factor) + " over " + std::to_string(change.warmup));
  return listed(words);
}

}  // namespace

std::map<std::string, std::string> identity_of(const Stage& stage) {
  return {{"stage", stage.name},
          {"stage.epochs", std::to_string(stage.epochs)},
          {"stage.steps_per_epoch", std::to_string(stage.steps_per_epoch)},
          {"stage.batch", std::to_string(stage.batch)},
          {"stage.accumulation", std::to_string(stage.accumulation)},
          {"stage.optimizer", words_of(stage.optimizer)},
          {"stage.groups", words_of(stage.groups)},
          {"stage.frozen", listed(stage.frozen)},
          {"stage.frozen_norms", word(stage.frozen_norms)},
          {"stage.unfreeze", words_of(stage.unfreeze)},
          {"stage.schedule", words_of(stage.schedule)},
          {"stage.precision", name_of(stage.precision)},
          {"stage.clip_norm", word(stage.clip_norm)},
          {"stage.ema", word(stage.ema)},
          {"stage.start", stage.start == StartFrom::best ? "best" : "last"},
          {"stage.keep_moments", word(stage.keep_moments)},
          {"stage.channels_last", word(stage.channels_last)}};
}

}  // namespace headrace::inline v1::training
