#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/metrics/metric.h>

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Cases of which a network says nothing: a value of their scores is NaN.
struct NoNumbers {
  std::int64_t cases = 0;
  std::string first = {};  ///< where the first came from: its file, else its number

  /// "NaN for 3 of 20 records, the first dog/7.png".
  HEADRACE_API std::string words(std::int64_t of) const;
};

/// Counts cases that have a NaN in their scores, or while a network learns in `Output::main`, where
/// they are: nothing waits before they are read. Absent rows do not count. Not thread-safe.
class HEADRACE_API NanCases {
 public:
  /// `knows_first`: which is the first, for some kernels more.
  explicit NanCases(bool knows_first = true) : knows_first_(knows_first) {}

  /// Where it throws it has counted none of them.
  void add(const Cases& cases);
  /// So far; waits for the device.
  std::int64_t count() const;
  /// The number in its evaluation of the first; waits. Only where there is one, and it is known.
  std::int64_t first() const;

  /// The count where it is, for a checkpoint; undefined before the first cases.
  const at::Tensor& state() const { return count_; }
  void restore(const at::Tensor& state) { count_ = state; }

 private:
  at::Tensor count_;  // int64
  at::Tensor first_;  // int64: its number
  bool knows_first_;
};

/// Of each row of `[N, ...]` whether one of its values is NaN, bool `[N]`, where they are.
HEADRACE_API at::Tensor rows_with_nan(const at::Tensor& values);

/// What a metric says that has seen a NaN: the same names, and no number.
HEADRACE_API Figures not_numbers(Figures figures);

}  // namespace headrace::inline v1::training
