#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Parameters that share their settings.
struct ParameterGroup {
  models::NamedTensors parameters = {};
  double rate_factor = 1.0;    ///< of the learning rate
  double weight_decay = 0.01;  ///< decoupled: w shrinks by rate * weight_decay a step
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  /// Whether biases and the scales and shifts of norms (parameters of at most one dimension) decay
  /// too.
  bool decay_vectors = false;
};

/// One group, or two where vectors do not decay; `rate_factor` is that of each.
HEADRACE_API std::vector<ParameterGroup> groups_by_decay(const models::NamedTensors& parameters,
                                                         const AdamWOptions& options,
                                                         double rate_factor = 1.0);

/// AdamW (Loshchilov, Hutter, "Decoupled Weight Decay Regularization", 2019) over LibTorch's fused
/// kernels: one call a group, device and dtype. Not thread-safe.
class HEADRACE_API AdamW {
 public:
  /// One group, or two when vectors do not decay. Throws `ConfigError` for settings outside their
  /// range or no parameters.
  AdamW(const models::NamedTensors& parameters, const AdamWOptions& options);

  /// Groups as given; `options.weight_decay` and `decay_vectors` are not looked at. Names are
  /// unique over all groups.
  AdamW(std::vector<ParameterGroup> groups, const AdamWOptions& options);

  double learning_rate() const { return options_.learning_rate; }
  void set_learning_rate(double rate);

  /// All parameters, in the order of the groups.
  std::vector<at::Tensor> parameters() const;

  /// One update with the gradients there are; parameters without one stay as they are. `skip`, a
  /// float scalar on the parameters' device, leaves everything as it was where it is 1, without
  /// waiting for the device.
  void step(const at::Tensor& skip = {});

  /// Drops the gradients.
  void zero_grad();

  /// Moments and step counts by `<parameter>.exp_avg`, `<parameter>.exp_avg_sq` and
  /// `<parameter>.step`: the tensors themselves, not copies.
  std::map<std::string, at::Tensor> state() const;

  /// Copies a state into this one. Throws `CheckpointError` for a missing or unexpected name or
  /// another shape, before anything is changed.
  void load_state(const std::map<std::string, at::Tensor>& state);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    at::Tensor exp_avg;
    at::Tensor exp_avg_sq;
    at::Tensor step;
  };
  struct Group {
    std::vector<Slot> slots;
    double rate_factor;
    double weight_decay;
  };

  void update(const Group& group, std::vector<const Slot*> slots, const at::Tensor& skip);

  AdamWOptions options_;
  std::vector<Group> groups_;
};

}  // namespace headrace::inline v1::training
