#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/custom_function.h>

namespace headrace::inline v1::models::detail {

/// An instance norm whose result need not be kept for its backward pass: `run` makes it, `again`
/// makes it again. Below autograd, for functions with a backward pass of their own.
struct InstanceNormRun {
  using Tensors = std::vector<at::Tensor>;

  at::Tensor input;   ///< `[N, C, ...]`
  at::Tensor weight;  ///< `[N * C]`, one for each map, in the type of the statistics
  at::Tensor bias;    ///< the same
  at::Tensor mean = {};
  at::Tensor inverse_deviation = {};
  at::Tensor reserve = {};   ///< of the backend
  std::int64_t backend = 0;  ///< that LibTorch has chosen

  /// The normed maps in the input's type, a tensor that may be changed in place. Sets the rest.
  at::Tensor run();

  /// The same in the type of the statistics.
  at::Tensor again() const;

  /// Of input, weight and bias, as far as they are wanted, from the result's.
  Tensors gradients(const at::Tensor& of_result, const std::array<bool, 3>& wanted) const;

  /// Keeps all for the backward pass, and the others behind it.
  void keep(torch::autograd::AutogradContext& context, const Tensors& others) const;

  struct Kept;
  static Kept kept(torch::autograd::AutogradContext& context);
};

struct InstanceNormRun::Kept {
  InstanceNormRun norm;
  Tensors others;
};

}  // namespace headrace::inline v1::models::detail
