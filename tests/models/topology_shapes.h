#pragma once

#include <headrace/models/losses/cubical_persistence.h>

#include <array>
#include <cstdint>
#include <span>

#include <ATen/Functions.h>

namespace headrace::test {

inline models::CubicalPersistence persistence_of(const at::Tensor& volume) {
  const at::Tensor values = volume.to(at::kFloat).contiguous();
  return models::cubical_persistence(
      {values.const_data_ptr<float>(), static_cast<std::size_t>(values.numel())},
      {values.size(0), values.size(1), values.size(2)});
}

using Betti = std::array<std::int64_t, 3>;

/// Components, tunnels and cavities of a mask `[D, H, W]`: what is born at 0 and dies at 1.
inline Betti betti_of(const at::Tensor& mask) {
  const models::CubicalPersistence found = persistence_of(1 - mask.to(at::kFloat));
  Betti betti{found.essential_birth == 0.0f ? 1 : 0, 0, 0};
  for (std::size_t k = 0; k < 3; ++k)
    betti.at(k) += static_cast<std::int64_t>(found.pairs.at(k).size());
  return betti;
}

inline at::Tensor nothing(at::IntArrayRef shape) {
  return at::zeros(shape, at::kBool);
}

/// Solid, a voxel away from the border.
inline at::Tensor box(at::IntArrayRef shape) {
  at::Tensor mask = nothing(shape);
  at::Tensor inner = mask;
  for (std::int64_t axis = 0; axis < 3; ++axis)
    inner = inner.narrow(axis, 1, inner.size(axis) - 2);
  inner.fill_(true);
  return mask;
}

/// Two voxels thick, across the second and the third axis.
inline at::Tensor sheet(at::IntArrayRef shape) {
  at::Tensor mask = nothing(shape);
  mask.narrow(0, shape[0] / 2, 2).fill_(true);
  return mask;
}

}  // namespace headrace::test
