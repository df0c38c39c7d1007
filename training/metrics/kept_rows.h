#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Keeps scores and targets of rows where they are, copied from a batch's memory, for figures that
/// need all of them at once. Not thread-safe.
class HEADRACE_API KeptRows {
 public:
  /// Rows that were present, on the CPU.
  struct OnHost {
    at::Tensor scores = {};   ///< `[N, K]` float
    at::Tensor targets = {};  ///< `[N, ...]` as they were given
  };

  /// Scores `[N, K]`, targets `[N, ...]` and, if defined, which rows are present, bool `[N]`.
  void add(const at::Tensor& scores, const at::Tensor& targets, const at::Tensor& present = {});

  bool empty() const { return scores_.empty(); }

  /// All so far, of which there must be some; waits for the device.
  OnHost on_host() const;

 private:
  std::vector<at::Tensor> scores_;
  std::vector<at::Tensor> targets_;
  std::vector<at::Tensor> present_;
};

/// Elements of a contiguous tensor on the CPU, valid while it lives.
template <class T>
std::span<const T> values_of(const at::Tensor& host) {
  return {host.const_data_ptr<T>(), static_cast<std::size_t>(host.numel())};
}

}  // namespace headrace::inline v1::training
