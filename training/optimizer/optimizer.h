#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/networks/network.h>
#include <headrace/training/optimizer/optimizer_rule.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

namespace detail {
struct RuleStep;
}

/// Parameters that share their settings.
struct ParameterGroup {
  models::NamedTensors parameters = {};
  double rate_factor = 1.0;    ///< of the learning rate
  double weight_decay = 0.01;  ///< as the rule takes it
  std::int64_t warmup = 0;     ///< updates over which whoever sets the rate lets it rise
  std::int64_t since = 0;      ///< update at which they begin
};

/// What is learnt by, and how fast.
struct OptimizerOptions {
  OptimizerRule rule = AdamWRule{};
  double learning_rate = 1e-3;
  double weight_decay = 0.01;
  /// Whether biases, the scales and shifts of norms and the like decay too: parameters with one
  /// dimension, or a value for each of their first.
  bool decay_vectors = false;
};

/// Throws `ConfigError` for numbers outside their range.
HEADRACE_API void check(const OptimizerOptions& options);

/// One group, or two where vectors do not decay; the rest is as in `like`.
HEADRACE_API std::vector<ParameterGroup> groups_by_decay(const models::NamedTensors& parameters,
                                                         const OptimizerOptions& options,
                                                         const ParameterGroup& like = {});

/// Changes parameters by their gradients over LibTorch's fused kernels: one call a group, device
/// and dtype. Every parameter has its state from the moment it is given, and none before: what is
/// frozen takes no memory here until a group is added for it. Not thread-safe.
class HEADRACE_API Optimizer {
 public:
  /// One group, or two when vectors do not decay. Throws `ConfigError` for settings outside their
  /// range or no parameters.
  Optimizer(const models::NamedTensors& parameters, const OptimizerOptions& options);

  /// Groups as given; `options.weight_decay` and `decay_vectors` are not looked at. Names are
  /// unique over all groups.
  Optimizer(std::vector<ParameterGroup> groups, const OptimizerOptions& options);

  /// More parameters from now on; the state of the others stays as it is. Throws `ConfigError` for
  /// none, and for a name that is known.
  void add_group(ParameterGroup group);

  std::size_t group_count() const { return groups_.size(); }
  double rate_factor(std::size_t group) const { return groups_.at(group).rate_factor; }
  std::int64_t warmup(std::size_t group) const { return groups_.at(group).warmup; }
  std::int64_t since(std::size_t group) const { return groups_.at(group).since; }

  /// The rate times each group's factor.
  void set_learning_rate(double rate);
  /// Of one group, its factor already in it.
  void set_learning_rate(std::size_t group, double rate);
  double learning_rate(std::size_t group = 0) const { return groups_.at(group).learning_rate; }

  /// The momentum of SGD, beta1 of Adam and AdamW: what a one-cycle schedule lets fall and rise.
  void set_momentum(double momentum);
  double momentum() const;

  /// All parameters, in the order of the groups.
  std::vector<at::Tensor> parameters() const;

  /// One update with the gradients there are; parameters without one stay as they are. `skip`, a
  /// float scalar on the parameters' device, leaves everything as it was where it is 1, without
  /// waiting for the device. Where memory cannot be had, it throws and has changed nothing.
  void step(const at::Tensor& skip = {});

  /// Drops the gradients.
  void zero_grad();

  /// By parameter, the tensors themselves and not copies: `<parameter>.exp_avg`, `.exp_avg_sq` and
  /// `.step` of Adam and AdamW, `<parameter>.momentum_buffer` of SGD with momentum.
  std::map<std::string, at::Tensor> state() const;

  /// Copies a state into this one. Throws `CheckpointError` for a missing or unexpected name or
  /// another shape, before anything is changed.
  void load_state(const std::map<std::string, at::Tensor>& state);

  /// Copies what another optimiser of the same rule knows of these parameters; the others keep
  /// their own. Throws `CheckpointError` for another shape, before anything is changed.
  void adopt_state(const std::map<std::string, at::Tensor>& of_another);

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    std::vector<at::Tensor> state;  // in the order of state_names()
  };
  struct Group {
    std::vector<Slot> slots;
    double rate_factor = 1.0;
    double weight_decay = 0.0;
    std::int64_t warmup = 0;
    std::int64_t since = 0;
    double learning_rate = 0.0;
  };

  void take(ParameterGroup group);
  static detail::RuleStep rule_step(const Group& group, const std::vector<const Slot*>& slots,
                                    const at::Tensor& skip);

  OptimizerOptions options_;
  std::vector<Group> groups_;
};

}  // namespace headrace::inline v1::training
