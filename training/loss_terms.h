#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/example.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Named values in the order in which they are shown.
using Figures = std::vector<std::pair<std::string, double>>;

/// The value of that name; not a number where there is none.
HEADRACE_API double figure(const Figures& figures, const std::string& name);

/// A part of a loss: the loss is the sum of factor * value.
struct Term {
  std::string name = "loss";
  at::Tensor value = {};  ///< a scalar, a mean
  double factor = 1.0;
  /// What `value` was divided by, a scalar, where that is not the example's weight: the sum of the
  /// class weights of its rows, say. Means over batches are then those over all samples.
  at::Tensor weight = {};
};

/// The sum of factor * value. Throws `ConfigError` without a term.
HEADRACE_API at::Tensor total(const std::vector<Term>& terms);

/// Means of loss terms over many batches, each weighed by what its mean was divided by, so that
/// they do not depend on how samples are divided into batches. The sums stay on the device: nothing
/// waits before `figures()`. Not thread-safe.
class HEADRACE_API LossMeans {
 public:
  /// `only_finite`: each `add` of a term that is not finite is left out, as of steps that are
  /// skipped for it; else it makes the means what they are.
  explicit LossMeans(bool only_finite = false) : only_finite_(only_finite) {}

  /// The terms of a batch. Throws `ConfigError` when they are not those of the batch before.
  void add(const std::vector<Term>& terms, const Example& example);

  /// What others have seen. Throws likewise.
  void add(const LossMeans& others);

  /// The mean of each value under its name in `figures()`, float64 scalars on the device: nothing
  /// waits. Empty where there are not several terms, or no row.
  models::NamedTensors terms() const;

  /// "loss", the sum of the means of factor * value, and where there are several terms, "loss_NAME"
  /// for the mean of each value. Not numbers before the first row, and where all were left out;
  /// zero where all that there was weighs nothing. Waits for the device.
  Figures figures() const;

  /// Rows so far.
  std::int64_t rows() const { return rows_; }

  /// For a checkpoint, copies on the CPU; see `restore`.
  TensorMap state() const;
  void restore(const TensorMap& state);

 private:
  void take_names(std::vector<std::string> names);
  void take(at::Tensor sums, at::Tensor weights, std::int64_t rows);
  at::Tensor means() const;

  std::vector<std::string> names_;
  at::Tensor sums_;      // [2, terms] float64: of the values, and of factor * value
  at::Tensor weights_;   // [terms] float64
  at::Tensor left_out_;  // float64: what was left out; undefined where all count
  bool only_finite_;
  std::int64_t rows_ = 0;
};

}  // namespace headrace::inline v1::training
