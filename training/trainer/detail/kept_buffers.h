#pragma once

#include <headrace/models/networks/network.h>
#include <headrace/training/checkpoint/named_state.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training::detail {

// Copies of what a forward pass changes beside its result (running statistics), of the newest
// steps: a step that is skipped because its loss is not a number has already made them no numbers.
class KeptBuffers {
 public:
  // How many steps are remembered.
  KeptBuffers(const models::Network& network, std::size_t steps);

  // More tensors that follow them, an average of weights say.
  void add(const TensorMap& tensors);

  // Before a step's first forward pass. Waits for nothing.
  void keep(std::int64_t step);

  // Puts back what was there before that step, one of the newest, where any of it is not finite
  // now. Waits for the device.
  void put_back(std::int64_t step);

  // The same whatever is there now, counts too, for a step that is done again. Waits for nothing.
  void restore(std::int64_t step);

 private:
  std::vector<at::Tensor>& copies_of(std::int64_t step);

  std::vector<at::Tensor> tensors_;  // floating ones, and behind them counts
  std::size_t floating_ = 0;
  std::vector<std::vector<at::Tensor>> copies_;
};

}  // namespace headrace::inline v1::training::detail
