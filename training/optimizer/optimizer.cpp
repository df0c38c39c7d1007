#include <headrace/engine/base/error.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/detail/optimizer_kernels.h>
#include <headrace/training/optimizer/optimizer.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include <ATen/core/grad_mode.h>

namespace headrace::inline v1::training {

namespace {

void require_not_negative(const char* what, double value) {
  if (!(value >= 0.0))
    throw ConfigError(std::string("[optimizer] ") + what + " must not be negative, got " +
                      std::to_string(value));
}

// A value for each channel or head, such as a bias, a scale, a temperature [heads, 1, 1].
bool is_vector(const at::Tensor& parameter) {
  return parameter.dim() <= 1 || parameter.numel() == parameter.size(0);
}

}  // namespace

void check(const OptimizerOptions& options) {
  detail::check(options.rule);
  require_not_negative("learning_rate", options.learning_rate);
  require_not_negative("weight_decay", options.weight_decay);
}

std::vector<ParameterGroup> groups_by_decay(const models::NamedTensors& parameters,
                                            const OptimizerOptions& options,
                                            const ParameterGroup& like) {
  ParameterGroup decayed = like;
  decayed.parameters.clear();
  decayed.weight_decay = options.weight_decay;
  ParameterGroup plain = decayed;
  plain.weight_decay = 0.0;
  for (const models::NamedTensor& parameter : parameters) {
    const bool decays = options.decay_vectors || !is_vector(parameter.tensor);
    (decays ? decayed : plain).parameters.push_back(parameter);
  }
  std::vector<ParameterGroup> groups;
  for (ParameterGroup* group : {&decayed, &plain})
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  return groups;
}

Optimizer::Optimizer(const models::NamedTensors& parameters, const OptimizerOptions& options)
    : Optimizer(groups_by_decay(parameters, options), options) {}

Optimizer::Optimizer(std::vector<ParameterGroup> groups, const OptimizerOptions& options)
    : options_(options) {
  check(options);
  for (ParameterGroup& group : groups)
    take(std::move(group));
  if (parameters().empty()) throw ConfigError("[optimizer] there are no parameters to train");
}

void Optimizer::add_group(ParameterGroup group) {
  if (group.parameters.empty())
    throw ConfigError("[optimizer] a group that is added must have a parameter, has none");
  take(std::move(group));
}

void Optimizer::take(ParameterGroup given) {
  require_not_negative("a group's weight_decay", given.weight_decay);
  require_not_negative("a group's rate_factor", given.rate_factor);
  Group group{.slots = {},
              .rate_factor = given.rate_factor,
              .weight_decay = given.weight_decay,
              .warmup = given.warmup,
              .since = given.since,
              .learning_rate = options_.learning_rate * given.rate_factor};
  const auto known = [&](const std::string& name) {
    const auto has = [&](const Group& one) {
      return std::ranges::any_of(one.slots, [&](const Slot& slot) { return slot.name == name; });
    };
    return has(group) || std::ranges::any_of(groups_, has);
  };
  for (models::NamedTensor& parameter : given.parameters) {
    if (known(parameter.name))
      throw ConfigError("[optimizer] parameter \"" + parameter.name + "\" was given twice");
    std::vector<at::Tensor> state = detail::make_state(options_.rule, parameter.tensor);
    group.slots.push_back({.name = std::move(parameter.name),
                           .parameter = std::move(parameter.tensor),
                           .state = std::move(state)});
  }
  groups_.push_back(std::move(group));
}

void Optimizer::set_learning_rate(double rate) {
  for (std::size_t i = 0; i < groups_.size(); ++i)
    set_learning_rate(i, rate * groups_[i].rate_factor);
}

void Optimizer::set_learning_rate(std::size_t group, double rate) {
  require_not_negative("learning_rate", rate);
  groups_.at(group).learning_rate = rate;
}

void Optimizer::set_momentum(double momentum) {
  OptimizerRule changed = options_.rule;
  detail::momentum_of(changed) = momentum;
  detail::check(changed);
  options_.rule = changed;
}

double Optimizer::momentum() const {
  OptimizerRule rule = options_.rule;
  return detail::momentum_of(rule);
}

std::vector<at::Tensor> Optimizer::parameters() const {
  std::vector<at::Tensor> all;
  for (const Group& group : groups_)
    for (const Slot& slot : group.slots)
      all.push_back(slot.parameter);
  return all;
}

void Optimizer::step(const at::Tensor& skip) {
  const at::NoGradGuard no_gradient;
  std::vector<detail::RuleStep> steps;
  for (const Group& group : groups_) {
    std::map<std::tuple<c10::DeviceType, c10::DeviceIndex, at::ScalarType>,
             std::vector<const Slot*>>
        alike;
    for (const Slot& slot : group.slots) {
      const at::Tensor& parameter = slot.parameter;
      if (parameter.grad().defined())
        alike[{parameter.device().type(), parameter.device().index(), parameter.scalar_type()}]
            .push_back(&slot);
    }
    for (const auto& [key, slots] : alike)
      steps.push_back(rule_step(group, slots, skip));
  }
  for (detail::RuleStep& step : steps)
    detail::prepare(options_.rule, step);
  for (detail::RuleStep& step : steps)
    detail::apply(options_.rule, step);
}

detail::RuleStep Optimizer::rule_step(const Group& group, const std::vector<const Slot*>& slots,
                                      const at::Tensor& skip) {
  detail::RuleStep step{
      .learning_rate = group.learning_rate, .weight_decay = group.weight_decay, .skip = skip};
  step.state.resize(slots.front()->state.size());
  for (const Slot* slot : slots) {
    step.parameters.push_back(slot->parameter);
    step.gradients.push_back(slot->parameter.grad());
    for (std::size_t i = 0; i < slot->state.size(); ++i)
      step.state[i].push_back(slot->state[i]);
  }
  return step;
}

void Optimizer::zero_grad() {
  for (const Group& group : groups_)
    for (const Slot& slot : group.slots)
      slot.parameter.mutable_grad().reset();
}

std::map<std::string, at::Tensor> Optimizer::state() const {
  const std::vector<std::string>& names = detail::state_names(options_.rule);
  std::map<std::string, at::Tensor> state;
  for (const Group& group : groups_)
    for (const Slot& slot : group.slots)
      for (std::size_t i = 0; i < slot.state.size(); ++i)
        state.emplace(slot.name + '.' + names[i], slot.state[i]);
  return state;
}

void Optimizer::load_state(const std::map<std::string, at::Tensor>& state) {
  copy_by_name(state, this->state(), "[optimizer]");
}

void Optimizer::adopt_state(const std::map<std::string, at::Tensor>& of_another) {
  std::map<std::string, at::Tensor> own = state();
  std::map<std::string, at::Tensor> known;
  for (const auto& [name, tensor] : of_another)
    if (own.contains(name)) known.emplace(name, tensor);
  std::erase_if(own, [&](const auto& one) { return !known.contains(one.first); });
  copy_by_name(known, own, "[optimizer]");
}

}  // namespace headrace::inline v1::training
