#pragma once

#include <cstdint>
#include <functional>

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

// Inputs of losses and metrics, and what all losses must do.
namespace headrace::test {

using Loss = std::function<at::Tensor(const at::Tensor& logits, const at::Tensor& target)>;

constexpr std::int64_t ignored = 255;

/// Float64 in [-3, 3): the inputs of reference/make_loss_values.py.
inline at::Tensor values(at::IntArrayRef shape, std::int64_t seed) {
  const at::Tensor i = at::arange(c10::multiply_integers(shape), at::kLong);
  return ((i * 7919 + seed * 104729).remainder(1009).to(at::kDouble) / 1009 * 6 - 3).view(shape);
}

/// Int64 class indices, also theirs.
inline at::Tensor classes(at::IntArrayRef shape, std::int64_t count, std::int64_t seed) {
  const at::Tensor i = at::arange(c10::multiply_integers(shape), at::kLong);
  const at::Tensor mixed = i * 31 + i.floor_divide(7) + seed * 17;
  return mixed.remainder(97).remainder(count).view(shape);
}

/// Every thirteenth is `ignored`.
inline at::Tensor with_ignored(const at::Tensor& target) {
  at::Tensor kept = target.clone();
  kept.view(-1).slice(0, 0, kept.numel(), 13).fill_(ignored);
  return kept;
}

inline at::Tensor gradient(const Loss& loss, const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor leaf = logits.detach().clone().set_requires_grad(true);
  return torch::autograd::grad({loss(leaf, target)}, {leaf})[0];
}

/// Between the gradient and finite differences of float64 logits.
inline double largest_gradient_error(const Loss& loss, const at::Tensor& logits,
                                     const at::Tensor& target) {
  constexpr double h = 1e-6;
  const at::Tensor given = gradient(loss, logits, target).flatten();
  double largest = 0.0;
  for (std::int64_t i = 0; i < logits.numel(); ++i) {
    const at::Tensor step = at::zeros_like(logits);
    step.view(-1)[i] = h;
    const double above = loss(logits + step, target).item<double>();
    const double below = loss(logits - step, target).item<double>();
    largest = std::max(largest, std::abs((above - below) / (2 * h) - given[i].item<double>()));
  }
  return largest;
}

}  // namespace headrace::test
