#pragma once

#include <ATen/Functions.h>

// A volume of 5 x 6 x 7 voxels whose losses were computed independently, in double.
namespace headrace::test {

/// A block of 36 voxels, float64 `[1, 1, 5, 6, 7]`.
inline at::Tensor volume_truth() {
  at::Tensor truth = at::zeros({1, 1, 5, 6, 7}, at::kDouble);
  truth.slice(2, 1, 4).slice(3, 1, 5).slice(4, 2, 5).fill_(1.0);
  return truth;
}

/// ((2x + 3y + 5z) mod 7) / 6: many are equal, some are 0 and 1.
inline at::Tensor volume_probabilities() {
  const at::Tensor z = at::arange(5, at::kLong).view({1, 1, 5, 1, 1});
  const at::Tensor y = at::arange(6, at::kLong).view({1, 1, 1, 6, 1});
  const at::Tensor x = at::arange(7, at::kLong);
  return (x * 2 + y * 3 + z * 5).remainder(7).to(at::kDouble) / 6;
}

inline at::Tensor volume_logits() {
  return at::logit(volume_probabilities());
}

/// Where a sheet `thickness` voxels thick lies across z, float64 `[1, 1, 16, 20, 20]`.
inline at::Tensor sheet(std::int64_t thickness) {
  at::Tensor truth = at::zeros({1, 1, 16, 20, 20}, at::kDouble);
  truth.slice(2, 6, 6 + thickness).fill_(1.0);
  return truth;
}

/// Logits 8 on a mask and -8 beside it.
inline at::Tensor logits_of(const at::Tensor& mask) {
  return (mask * 2 - 1) * 8;
}

}  // namespace headrace::test
