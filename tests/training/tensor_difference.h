#pragma once

#include <headrace/training/checkpoint/named_state.h>

#include <algorithm>

#include <ATen/Functions.h>

namespace headrace::training {

inline double largest_difference(const TensorMap& a, const TensorMap& b) {
  double largest = 0.0;
  for (const auto& [name, tensor] : a)
    largest = std::max(largest, (tensor - b.at(name)).abs().max().item<double>());
  return largest;
}

}  // namespace headrace::training
