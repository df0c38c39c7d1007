#pragma once

#include <headrace/models/networks/network.h>
#include <headrace/tests/models/hashed_fill.h>

#include "../support/torch_doctest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/Functions.h>

// Networks beside their peers in Python: weights that both compute alike, and what is compared.
namespace headrace::test {

/// Of a tensor, as the makers in reference/ print it.
struct Summary {
  double mean;
  double mean_of_sizes;
  std::array<double, 8> picks;
};

struct NamedValue {
  std::string name;
  double value;
};

inline at::Tensor tensor_of(const models::NamedTensors& tensors, const std::string& name) {
  return std::ranges::find(tensors, name, &models::NamedTensor::name)->tensor;
}

/// Of the sorted names and shapes.
inline std::uint64_t hash_of_shapes(const models::Network& network) {
  std::vector<std::string> lines;
  for (const models::NamedTensor& item : models::state_of(network)) {
    std::string sides;
    for (const std::int64_t side : item.tensor.sizes())
      sides += (sides.empty() ? "" : ", ") + std::to_string(side);
    lines.push_back(item.name + " [" + sides + "]\n");
  }
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines)
    text += line;
  return hashed(text);
}

/// What `state` of the makers gives.
inline at::Tensor filled(const models::NamedTensor& item) {
  const at::IntArrayRef sizes = item.tensor.sizes();
  if (item.name.ends_with("num_batches_tracked")) return at::zeros_like(item.tensor);
  if (sizes.size() > 1) {
    const auto fan_in = static_cast<double>(item.tensor.numel() / sizes[0]);
    return hashed_fill(item.name, sizes, 0.0, std::sqrt(2.0 / fan_in));
  }
  if (item.name.ends_with(".weight") || item.name.ends_with(".running_var"))
    return hashed_fill(item.name, sizes, 1.0, .5);
  return hashed_fill(item.name, sizes, 0.0, .1);
}

inline void fill(models::Network& network, at::ScalarType type) {
  for (const models::NamedTensor& item : models::state_of(network)) {
    const at::Tensor values = filled(item);
    at::Tensor(item.tensor).set_data(values.is_floating_point() ? values.to(type) : values);
  }
}

/// Absolute up to 1 and relative above.
inline void check_near(double got, double expected, double size, double tolerance) {
  CHECK_MESSAGE(std::abs(got - expected) <= tolerance * std::max(1.0, size),
                got << " is not " << expected);
}

inline void check_summary(const at::Tensor& output, const Summary& expected, double tolerance) {
  const at::Tensor flat = output.detach().to(at::kDouble).contiguous().flatten();
  const double size = expected.mean_of_sizes;
  check_near(flat.mean().item<double>(), expected.mean, size, tolerance);
  check_near(flat.abs().mean().item<double>(), size, size, tolerance);
  for (std::int64_t i = 0; i < 8; ++i)
    check_near(flat[i * (flat.numel() - 1) / 7].item<double>(),
               expected.picks[static_cast<std::size_t>(i)], size, tolerance);
}

}  // namespace headrace::test
