#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/named_state.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// The exponential moving average of a network's weights (EMA; Polyak, Juditsky, 1992): average +=
/// (1 - decay) * (weights - average), over all floating parameters and buffers; other buffers are
/// copied. The decay rises with the updates, min(decay, 1 - (1 + update)^(-2/3)), so that the first
/// weights do not stay in the mean (timm's ModelEmaV3 with warm-up). Takes the memory of the
/// weights once more, and as much for the time of an update. Not thread-safe.
class HEADRACE_API WeightAverage {
 public:
  /// Begins with the network's weights of now. The network outlives it and keeps its tensors.
  /// Throws `ConfigError` for a decay outside [0, 1).
  WeightAverage(models::Network& network, double decay);

  /// After update number `update`, from 0. Where `skipped`, a scalar on the device, is 1 the step
  /// has changed no weight, and the average stays; undefined: it was not skipped. Waits for
  /// nothing.
  void update(std::int64_t update, const at::Tensor& skipped = {});

  /// The factor that update number `update` leaves of the average.
  double decay_at(std::int64_t update) const;

  /// By the names of the weights: the tensors themselves.
  TensorMap state() const;
  /// Throws `CheckpointError` for other names or shapes.
  void load_state(const TensorMap& state);

  /// Gives the network the average's values and the average the network's; once more gives them
  /// back. Nothing is copied.
  void swap();

 private:
  struct Pair {
    std::string name;
    at::Tensor weight;
    at::Tensor average;
  };

  std::vector<Pair> floating_;
  std::vector<Pair> copied_;
  double decay_;
};

/// The network has the average's values while it lives.
class AverageInPlace {
 public:
  explicit AverageInPlace(WeightAverage* average) : average_(average) {
    if (average_ != nullptr) average_->swap();
  }
  ~AverageInPlace() {
    if (average_ != nullptr) average_->swap();
  }
  AverageInPlace(const AverageInPlace&) = delete;
  AverageInPlace& operator=(const AverageInPlace&) = delete;

 private:
  WeightAverage* average_;
};

}  // namespace headrace::inline v1::training
