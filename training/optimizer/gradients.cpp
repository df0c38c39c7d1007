#include <headrace/engine/base/error.h>
#include <headrace/training/optimizer/gradients.h>

#include <cmath>
#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/full.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::training {

at::Tensor clip_gradients(const std::vector<at::Tensor>& parameters, double max_norm) {
  if (std::isnan(max_norm))
    throw ConfigError("[clip_gradients] max_norm must be a number, got NaN");
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  if (gradients.empty())
    return parameters.empty() ? at::zeros({})
                              : at::zeros({}, parameters.front().options().dtype(at::kFloat));

  std::vector<at::Tensor> norms = at::_foreach_norm(gradients);
  for (at::Tensor& norm : norms)
    if (norm.scalar_type() != at::kDouble) norm = norm.to(at::kFloat);
  at::Tensor total = at::linalg_vector_norm(at::stack(norms));
  if (max_norm <= 0.0) return total;

  at::Tensor factor = at::clamp_max(max_norm / (total + 1e-6), 1.0);
  factor = at::where(at::isfinite(total), factor, at::ones_like(factor));
  at::_foreach_mul_(gradients, factor);
  return total;
}

GradScaler::GradScaler(at::Device device, GradScalerOptions options)
    : options_(options),
      scale_(at::full({}, options.scale, at::TensorOptions().dtype(at::kFloat).device(device))),
      growth_tracker_(at::zeros({}, at::TensorOptions().dtype(at::kInt).device(device))) {
  if (!(options.scale > 0.0) || !(options.growth > 1.0) || options.interval < 1 ||
      !(options.backoff > 0.0 && options.backoff < 1.0))
    throw ConfigError(
        "[grad_scaler] needs a scale above 0, a growth above 1, a backoff in (0, 1) and an "
        "interval of at least 1, got " +
        std::to_string(options.scale) + ", " + std::to_string(options.growth) + ", " +
        std::to_string(options.backoff) + " and " + std::to_string(options.interval));
}

at::Tensor GradScaler::scaled(const at::Tensor& loss) const {
  return loss * scale_;
}

at::Tensor GradScaler::unscale(const std::vector<at::Tensor>& parameters) const {
  const at::NoGradGuard no_gradient;
  std::map<at::ScalarType, std::vector<at::Tensor>> gradients;
  for (const at::Tensor& parameter : parameters)
    if (parameter.grad().defined())
      gradients[parameter.grad().scalar_type()].push_back(parameter.grad());
  at::Tensor overflowed = at::zeros_like(scale_);
  const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
  for (auto& [dtype, alike] : gradients)
    at::_amp_foreach_non_finite_check_and_unscale_(alike, overflowed, inverse);
  return overflowed;
}

void GradScaler::update(const at::Tensor& skipped) {
  at::_amp_update_scale_(scale_, growth_tracker_, skipped, options_.growth, options_.backoff,
                         options_.interval);
}

double GradScaler::scale() const {
  return scale_.item<double>();
}

TensorMap GradScaler::state() const {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

void GradScaler::load_state(const TensorMap& state) {
  copy_by_name(state, this->state(), "[grad_scaler]");
}

}  // namespace headrace::inline v1::training
