#pragma once

#include <headrace/models/networks/network.h>
#include <headrace/tests/support/temporary_folder.h>
#include <headrace/tests/support/torch_python.h>
#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/optimizer/optimizer.h>
#include <headrace/training/optimizer/update.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

// What the comparison with PyTorch is made of: the run that pytorch_steps.py wrote, and the same
// steps by our own code.
namespace headrace::test {

/// The micro-batches of a step.
using Parts = std::vector<training::Example>;

/// Twenty steps of PyTorch, read from a temporary folder.
class PytorchRun {
 public:
  static constexpr std::int64_t steps = 20;

  /// Runs the script; `job` is a folder beside it, with `:class` another than its class Job, `mode`
  /// "batches" or "windows".
  PytorchRun(const std::string& python, const std::string& job, const std::string& mode);

  /// Losses of the steps, float64 `[20]`, of the run in "float32" or "float64".
  const at::Tensor& values(const std::string& name) const { return losses_.at(name); }
  double loss(const std::string& type, std::int64_t step) const;

  const Parts& parts(std::int64_t step) const { return parts_[static_cast<std::size_t>(step)]; }

  /// `network/*` and `optimizer/*` before a step of the float32 run; `state(20)` is its end.
  training::TensorMap state(std::int64_t step) const;

  /// Samples of each class, where the loss weighs classes.
  const std::vector<std::int64_t>& class_counts() const { return class_counts_; }

 private:
  TemporaryFolder folder_;
  training::TensorMap losses_;
  std::vector<Parts> parts_;
  std::vector<std::int64_t> class_counts_;
};

/// A job as its program trains it, but for dropout.
struct JobRecipe {
  std::function<std::unique_ptr<models::Network>()> make_network{};
  std::shared_ptr<const training::Course> course;
  training::Stage stage;  ///< of these, optimizer, clip_norm and schedule
  std::int64_t steps_per_epoch = 1;
};

/// The recipe's steps, in float or double, from the weights that PyTorch began with.
class Steps {
 public:
  Steps(const JobRecipe& recipe, const PytorchRun& run, at::ScalarType type);

  /// Weights, buffers, moments and step counts of a float32 state.
  void restore(const training::TensorMap& state);
  training::TensorMap state() const;

  /// One step with the parts of that step; gives the mean loss over the rows that are present.
  double step(std::int64_t number);

 private:
  const JobRecipe& recipe_;
  const PytorchRun& run_;
  at::ScalarType type_;
  std::unique_ptr<models::Network> network_;
  training::Optimizer optimizer_;
  training::Update update_;
};

/// Largest difference of two values: absolute, and relative to those larger than one.
double difference(double ours, double theirs);
double difference(const at::Tensor& ours, const at::Tensor& theirs);

/// How far one step in float, begun from PyTorch's state, ends from PyTorch's.
struct StepDifference {
  double loss = 0.0;
  double weights = 0.0;   ///< of those whose gradient is more than rounding noise
  double buffers = 0.0;   ///< running statistics
  double moments = 0.0;   ///< of AdamW, all of them, beside the largest of its kind
  double left_out = 0.0;  ///< share of the weights that `weights` leaves out
};

/// AdamW divides by the root of a gradient's mean square. A gradient that is nothing but rounding,
/// as of a bias that a batch norm takes away again, so moves its weight by about the learning rate
/// in a direction of chance. Such weights are left out: those whose root mean square is below 1e-4
/// of that over all weights on both sides, but not zero on both.
StepDifference difference_of_step(Steps& steps, const PytorchRun& run, std::int64_t number);

}  // namespace headrace::test
