#pragma once

#include <headrace/models/networks/checkpointed.h>

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

// A block with all that is hard to run twice, and what its tests share.
namespace headrace::test {

/// A linear layer, a norm, and dropout.
struct Part {
  explicit Part(at::ScalarType type = at::kDouble) { module->to(type); }

  at::Tensor operator()(const at::Tensor& input) { return module->forward(input); }
  models::Block block() {
    return {.run = [inner = module](
                       models::Tensors x) mutable { return models::Tensors{inner->forward(x[0])}; },
            .modules = {module.ptr()}};
  }
  at::Tensor buffer(const std::string& name) { return module->named_buffers()[name]; }
  at::Tensor weight() { return module->named_parameters()["0.weight"]; }

  torch::nn::Sequential module{torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4),
                               torch::nn::Dropout(.5)};
};

inline at::Tensor input_of(at::ScalarType type = at::kDouble) {
  at::manual_seed(3);
  return at::rand({8, 3}, type);
}

inline at::Tensor generator_state() {
  at::Generator generator = at::globalContext().defaultGenerator(at::kCPU);
  const std::lock_guard lock(generator.mutex());
  return generator.get_state();
}

using Forward = std::function<at::Tensor(Part&, const at::Tensor&)>;

inline const Forward plain = [](Part& part, const at::Tensor& input) { return part(input); };
inline const Forward again = [](Part& part, const at::Tensor& input) {
  return models::checkpointed(part.block(), {input}).front();
};

/// Bit by bit; undefined ones are the same.
inline bool same(const models::Tensors& a, const models::Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].defined() != b[i].defined()) return false;
    if (a[i].defined() && !at::equal(a[i], b[i])) return false;
  }
  return true;
}

/// Autocast of the CPU to bfloat16 for the scope it lives in.
class Bfloat16 {
 public:
  Bfloat16() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  ~Bfloat16() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
  Bfloat16(const Bfloat16&) = delete;
  Bfloat16& operator=(const Bfloat16&) = delete;
};

}  // namespace headrace::test
