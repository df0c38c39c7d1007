#include <headrace/engine/base/error.h>
#include <headrace/training/gradients.h>

#include <cmath>

#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/clamp_max.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

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

}  // namespace headrace::inline v1::training
