#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/detail/optimizer_kernels.h>

#include <optional>

#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::training::detail {

namespace {

template <class Adam>
void check_adam(const char* who, const Adam& rule) {
  const auto share = [](double beta) { return beta >= 0.0 && beta < 1.0; };
  if (!share(rule.beta1) || !share(rule.beta2))
    throw ConfigError(std::string(who) + " beta1 and beta2 must lie in [0, 1), got " +
                      std::to_string(rule.beta1) + " and " + std::to_string(rule.beta2));
  if (!(rule.epsilon > 0.0))
    throw ConfigError(std::string(who) + " epsilon must be positive, got " +
                      std::to_string(rule.epsilon));
}

void check_rule(const AdamWRule& rule) {
  check_adam("[AdamW]", rule);
}
void check_rule(const AdamRule& rule) {
  check_adam("[Adam]", rule);
}
void check_rule(const SgdRule& rule) {
  if (!(rule.momentum >= 0.0 && rule.momentum < 1.0))
    throw ConfigError("[SGD] momentum must lie in [0, 1), got " + std::to_string(rule.momentum));
  if (rule.nesterov && rule.momentum == 0.0)
    throw ConfigError("[SGD] nesterov needs a momentum above 0, got 0; set nesterov to false");
}

std::optional<at::Tensor> given(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

// The kernels count the step that they may skip: the count is taken back for afterwards.
template <class Adam>
void prepare_rule(const Adam&, RuleStep& step) {
  step.counted = at::_foreach_add(step.state[2], 1);
  step.counted_after = step.counted;
  if (step.skip.defined())
    step.counted_after =
        at::_foreach_sub(step.counted, std::vector<at::Tensor>(step.counted.size(), step.skip));
}
void prepare_rule(const SgdRule&, RuleStep&) {}

template <class Adam, class Kernel>
void apply_adam(const Adam& rule, RuleStep& step, Kernel kernel) {
  kernel(step.parameters, step.gradients, step.state[0], step.state[1], at::TensorList{},
         step.counted, step.learning_rate, rule.beta1, rule.beta2, step.weight_decay, rule.epsilon,
         /*amsgrad=*/false, /*maximize=*/false, /*grad_scale=*/std::nullopt, given(step.skip));
  at::_foreach_copy_(step.state[2], step.counted_after);
}

void apply_rule(const AdamWRule& rule, RuleStep& step) {
  apply_adam(rule, step, [](auto&&... of) { at::_fused_adamw_(of...); });
}
void apply_rule(const AdamRule& rule, RuleStep& step) {
  apply_adam(rule, step, [](auto&&... of) { at::_fused_adam_(of...); });
}
// A buffer of zeros takes the first gradient as it is, which is what PyTorch's first step does.
void apply_rule(const SgdRule& rule, RuleStep& step) {
  const std::vector<at::Tensor> none;
  at::_fused_sgd_(step.parameters, step.gradients, step.state.empty() ? none : step.state[0],
                  step.weight_decay, rule.momentum, step.learning_rate, /*dampening=*/0.0,
                  rule.nesterov, /*maximize=*/false, /*is_first_step=*/false,
                  /*grad_scale=*/std::nullopt, given(step.skip));
}

const std::vector<std::string>& names_of(const AdamWRule&) {
  static const std::vector<std::string> names{"exp_avg", "exp_avg_sq", "step"};
  return names;
}
const std::vector<std::string>& names_of(const AdamRule&) {
  return names_of(AdamWRule{});
}
const std::vector<std::string>& names_of(const SgdRule& rule) {
  static const std::vector<std::string> names{"momentum_buffer"};
  static const std::vector<std::string> none;
  return rule.momentum > 0.0 ? names : none;
}

double& momentum_in(AdamWRule& rule) {
  return rule.beta1;
}
double& momentum_in(AdamRule& rule) {
  return rule.beta1;
}
double& momentum_in(SgdRule& rule) {
  return rule.momentum;
}

}  // namespace

void check(const OptimizerRule& rule) {
  std::visit([](const auto& one) { check_rule(one); }, rule);
}

const std::vector<std::string>& state_names(const OptimizerRule& rule) {
  return std::visit(
      [](const auto& one) -> const auto& { return names_of(one); }, rule);
}

std::vector<at::Tensor> make_state(const OptimizerRule& rule, const at::Tensor& parameter) {
  const at::Tensor values = parameter.detach();
  std::vector<at::Tensor> state;
  for (const std::string& name : state_names(rule))
    state.push_back(name == "step" ? at::zeros({}, values.options().dtype(at::kFloat))
                                   : at::zeros_like(values));
  return state;
}

double& momentum_of(OptimizerRule& rule) {
  return std::visit([](auto& one) -> double& { return momentum_in(one); }, rule);
}

void prepare(const OptimizerRule& rule, RuleStep& step) {
  std::visit([&](const auto& one) { prepare_rule(one, step); }, rule);
}

void apply(const OptimizerRule& rule, RuleStep& step) {
  std::visit([&](const auto& one) { apply_rule(one, step); }, rule);
}

}  // namespace headrace::inline v1::training::detail
