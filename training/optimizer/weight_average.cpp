#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/weight_average.h>

#include <algorithm>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>

namespace headrace::inline v1::training {

WeightAverage::WeightAverage(models::Network& network, double decay) : decay_(decay) {
  if (!(decay >= 0.0 && decay < 1.0))
    throw ConfigError("[ema] decay must lie in [0, 1), got " + std::to_string(decay));
  for (const models::NamedTensor& item : models::state_of(network))
    (item.tensor.is_floating_point() ? floating_ : copied_)
        .push_back({.name = item.name,
                    .weight = item.tensor,
                    .average = item.tensor.detach().clone(at::MemoryFormat::Preserve)});
}

double WeightAverage::decay_at(std::int64_t update) const {
  constexpr double power = 2.0 / 3.0;
  const double warm = 1.0 - std::pow(1.0 + static_cast<double>(update), -power);
  return std::min(decay_, warm);
}

void WeightAverage::update(std::int64_t update, const at::Tensor& skipped) {
  const at::NoGradGuard no_gradient;
  const double share = 1.0 - decay_at(update);
  std::vector<at::Tensor> averages, weights;
  for (const Pair& pair : floating_) {
    averages.push_back(pair.average);
    weights.push_back(pair.weight.detach());
  }
  std::vector<at::Tensor> steps = at::_foreach_sub(weights, averages);
  if (skipped.defined())
    at::_foreach_mul_(steps,
                      ((1.0 - skipped.to(at::kDouble)) * share).to(steps.front().scalar_type()));
  else
    at::_foreach_mul_(steps, share);
  at::_foreach_add_(averages, steps);
  for (const Pair& pair : copied_)
    pair.average.copy_(pair.weight);
}

TensorMap WeightAverage::state() const {
  TensorMap state;
  for (const auto* pairs : {&floating_, &copied_})
    for (const Pair& pair : *pairs)
      state.emplace(pair.name, pair.average);
  return state;
}

void WeightAverage::load_state(const TensorMap& state) {
  copy_by_name(state, this->state(), "[ema]");
}

void WeightAverage::swap() {
  const at::NoGradGuard no_gradient;
  for (auto* pairs : {&floating_, &copied_}) {
    for (Pair& pair : *pairs) {
      const at::Tensor weight = pair.weight.detach();
      pair.weight.set_data(pair.average);
      pair.average = weight;
    }
  }
}

}  // namespace headrace::inline v1::training
