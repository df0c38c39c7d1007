#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Reads scalars of a device without waiting for it: they are copied to page-locked memory behind
/// the work queued so far, and given out, in order, once the copy is done. On the CPU they are
/// there at once. Not thread-safe.
class HEADRACE_API AsyncScalars {
 public:
  /// Says whether the copy is done; waits for it where `wait` is true, and then it is.
  using Arrived = std::function<bool(bool wait)>;

  /// Begins to read `values`, scalars of any dtype on one device.
  void push(const std::vector<at::Tensor>& values);
  /// The same for `[K]` doubles on the host that are being written: `arrived` says whether they
  /// are.
  void push(at::Tensor host, Arrived arrived);

  /// The oldest values, once they have arrived; with `wait`, waits for them. Empty where there are
  /// none.
  std::optional<std::vector<double>> pop(bool wait);

  std::size_t size() const { return reads_.size(); }

 private:
  struct Read {
    at::Tensor host;
    Arrived arrived;
  };
  std::deque<Read> reads_;
};

}  // namespace headrace::inline v1::training
