#pragma once

#include <cstddef>

#include <ATen/Functions.h>

// Maps of 8 x 10 pixels whose losses were computed by hand, in double.
namespace headrace::test {

/// A disc of 21 pixels, float64 `[1, 1, 8, 10]`.
inline at::Tensor map_truth() {
  const at::Tensor y = at::arange(8, at::kDouble).unsqueeze(1);
  const at::Tensor x = at::arange(10, at::kDouble);
  return ((x - 4).square() + (y - 3).square() <= 6).to(at::kDouble).view({1, 1, 8, 10});
}

/// Logits 4 (p - .5) of: 0, a p that has nothing to do with the disc; 1, one that leans to it; 2,
/// one that is .8 on it.
inline at::Tensor map_logits(std::size_t number) {
  const at::Tensor y = at::arange(8, at::kLong).unsqueeze(1);
  const at::Tensor x = at::arange(10, at::kLong);
  const at::Tensor q = (x * 3 + y * 5).remainder(11).to(at::kDouble).view({1, 1, 8, 10}) / 10;
  const at::Tensor on = number == 1 ? .5 + .5 * q : at::full_like(q, .8);
  const at::Tensor p = number == 0 ? q : at::where(map_truth() > 0, on, .5 * q);
  return 4 * (p - .5);
}

}  // namespace headrace::test
