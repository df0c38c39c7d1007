#include <headrace/engine/base/error.h>
#include <headrace/training/adamw.h>
#include <headrace/training/checkpoint_error.h>
#include <headrace/training/named_state.h>

#include <set>
#include <tuple>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::training {

namespace {

void check(const AdamWOptions& options) {
  const auto share = [](double beta) { return beta >= 0.0 && beta < 1.0; };
  if (!(options.learning_rate >= 0.0))
    throw ConfigError("[AdamW] learning_rate must not be negative, got " +
                      std::to_string(options.learning_rate));
  if (!share(options.beta1) || !share(options.beta2))
    throw ConfigError("[AdamW] beta1 and beta2 must lie in [0, 1), got " +
                      std::to_string(options.beta1) + " and " + std::to_string(options.beta2));
  if (!(options.epsilon > 0.0))
    throw ConfigError("[AdamW] epsilon must be positive, got " + std::to_string(options.epsilon));
}

}  // namespace

std::vector<ParameterGroup> groups_by_decay(const models::NamedTensors& parameters,
                                            const AdamWOptions& options, double rate_factor) {
  ParameterGroup decayed{.rate_factor = rate_factor, .weight_decay = options.weight_decay};
  ParameterGroup plain{.rate_factor = rate_factor, .weight_decay = 0.0};
  for (const models::NamedTensor& parameter : parameters) {
    const bool decays = options.decay_vectors || parameter.tensor.dim() > 1;
    (decays ? decayed : plain).parameters.push_back(parameter);
  }
  std::vector<ParameterGroup> groups;
  for (ParameterGroup* group : {&decayed, &plain})
    if (!group->parameters.empty()) groups.push_back(std::move(*group));
  return groups;
}

AdamW::AdamW(const models::NamedTensors& parameters, const AdamWOptions& options)
    : AdamW(groups_by_decay(parameters, options), options) {}

AdamW::AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options) : options_(options) {
  check(options);
  std::set<std::string> names;
  for (ParameterGroup& given : groups) {
    if (!(given.weight_decay >= 0.0))
      throw ConfigError("[AdamW] weight_decay must not be negative, got " +
                        std::to_string(given.weight_decay));
    Group group{.slots = {}, .rate_factor = given.rate_factor, .weight_decay = given.weight_decay};
    for (models::NamedTensor& parameter : given.parameters) {
      if (!names.insert(parameter.name).second)
        throw ConfigError("[AdamW] parameter \"" + parameter.name + "\" was given twice");
      const at::Tensor values = parameter.tensor.detach();
      group.slots.push_back({.name = std::move(parameter.name),
                             .parameter = parameter.tensor,
                             .exp_avg = at::zeros_like(values),
                             .exp_avg_sq = at::zeros_like(values),
                             .step = at::zeros({}, values.options().dtype(at::kFloat))});
    }
    groups_.push_back(std::move(group));
  }
  if (names.empty()) throw ConfigError("[AdamW] there are no parameters to train");
}

void AdamW::set_learning_rate(double rate) {
  if (!(rate >= 0.0))
    throw ConfigError("[AdamW] learning_rate must not be negative, got " + std::to_string(rate));
  options_.learning_rate = rate;
}

std::vector<at::Tensor> AdamW::parameters() const {
  std::vector<at::Tensor> all;
  for (const Group& group : groups_)
    for (const Slot& slot : group.slots)
      all.push_back(slot.parameter);
  return all;
}

void AdamW::step(const at::Tensor& skip) {
  const at::NoGradGuard no_gradient;
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
    for (auto& [key, slots] : alike)
      update(group, std::move(slots), skip);
  }
}

void AdamW::update(const Group& group, std::vector<const Slot*> slots, const at::Tensor& skip) {
  std::vector<at::Tensor> parameters, gradients, exp_avgs, exp_avg_sqs, steps;
  for (const Slot* slot : slots) {
    parameters.push_back(slot->parameter);
    gradients.push_back(slot->parameter.grad());
    exp_avgs.push_back(slot->exp_avg);
    exp_avg_sqs.push_back(slot->exp_avg_sq);
    steps.push_back(slot->step);
  }
  at::_foreach_add_(steps, 1);
  std::optional<at::Tensor> found_inf;
  if (skip.defined()) found_inf = skip;
  at::_fused_adamw_(parameters, gradients, exp_avgs, exp_avg_sqs, {}, steps,
                    options_.learning_rate * group.rate_factor, options_.beta1, options_.beta2,
                    group.weight_decay, options_.epsilon, /*amsgrad=*/false, /*maximize=*/false,
                    /*grad_scale=*/{}, found_inf);
  if (skip.defined()) at::_foreach_sub_(steps, std::vector<at::Tensor>(steps.size(), skip));
}

void AdamW::zero_grad() {
  for (const Group& group : groups_)
    for (const Slot& slot : group.slots)
      slot.parameter.mutable_grad().reset();
}

std::map<std::string, at::Tensor> AdamW::state() const {
  std::map<std::string, at::Tensor> state;
  for (const Group& group : groups_) {
    for (const Slot& slot : group.slots) {
      state.emplace(slot.name + ".exp_avg", slot.exp_avg);
      state.emplace(slot.name + ".exp_avg_sq", slot.exp_avg_sq);
      state.emplace(slot.name + ".step", slot.step);
    }
  }
  return state;
}

void AdamW::load_state(const std::map<std::string, at::Tensor>& state) {
  copy_by_name(state, this->state(), "[AdamW]");
}

}  // namespace headrace::inline v1::training
