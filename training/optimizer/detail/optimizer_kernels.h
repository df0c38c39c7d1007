#pragma once

#include <headrace/training/optimizer/optimizer_rule.h>

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training::detail {

// Throws `ConfigError` for numbers outside their range.
void check(const OptimizerRule& rule);

// What a rule keeps for each parameter, by name: "exp_avg", "exp_avg_sq", "step".
const std::vector<std::string>& state_names(const OptimizerRule& rule);

// Zeros for a parameter, in the order of these names.
std::vector<at::Tensor> make_state(const OptimizerRule& rule, const at::Tensor& parameter);

double& momentum_of(OptimizerRule& rule);

// Parameters of one device and dtype, and what is theirs.
struct RuleStep {
  std::vector<at::Tensor> parameters = {};
  std::vector<at::Tensor> gradients = {};
  std::vector<std::vector<at::Tensor>> state = {};  // by state name, a tensor each parameter
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  at::Tensor skip = {};  // undefined: nothing is skipped
  // By `prepare`: what the kernels take as counts of steps, and what these are afterwards.
  std::vector<at::Tensor> counted = {};
  std::vector<at::Tensor> counted_after = {};
};

// Takes all memory that the update needs, and changes nothing.
void prepare(const OptimizerRule& rule, RuleStep& step);
// One update in place, prepared before. Takes no tensor's memory, so that it is not broken off.
void apply(const OptimizerRule& rule, RuleStep& step);

}  // namespace headrace::inline v1::training::detail
