#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/checkpoint/named_state.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

/// Scales the gradients of `parameters` so that the norm of all together is at most `max_norm`:
/// factor max_norm / (norm + 1e-6), at most 1. Gives the norm before, on their device a float
/// scalar, or double where there are gradients of double; nothing waits for it. If the norm is not
/// finite the gradients are left as they are: skip the step. Parameters without gradient are passed
/// over. All gradients lie on one device. With `max_norm` 0 or less the norm is only measured.
/// Throws `ConfigError` for a NaN `max_norm`.
HEADRACE_API at::Tensor clip_gradients(const std::vector<at::Tensor>& parameters, double max_norm);

struct GradScalerOptions {
  double scale = 65536.0;  ///< at the start
  double growth = 2.0;     ///< of the scale after `interval` steps in a row without overflow
  double backoff = 0.5;    ///< of the scale after an overflow
  std::int64_t interval = 2000;
};

/// Keeps gradients of half precision inside its range: the loss is scaled up, gradients are scaled
/// down again before they are used, and a step in which one has overflowed is skipped and lowers
/// the scale (Micikevicius et al., "Mixed Precision Training", arXiv 1710.03740; the algorithm and
/// the defaults are those of PyTorch's GradScaler). All on the device: nothing waits for it. Not
/// thread-safe.
class HEADRACE_API GradScaler {
 public:
  /// Throws `ConfigError` for a scale, growth, backoff or interval that leads nowhere.
  explicit GradScaler(at::Device device, GradScalerOptions options = {});

  /// What the backward pass begins with.
  at::Tensor scaled(const at::Tensor& loss) const;

  /// Divides the gradients of `parameters` by the scale, once a step and before they are clipped.
  /// Gives a float scalar: 1 where one of them is not finite, else 0.
  at::Tensor unscale(const std::vector<at::Tensor>& parameters) const;

  /// What the step says of the scale: `skipped` is 1 where it changed nothing.
  void update(const at::Tensor& skipped);

  /// Waits for the device.
  double scale() const;

  /// "scale" float and "growth_tracker" int32, scalars: the tensors themselves.
  TensorMap state() const;
  /// Throws `CheckpointError` for another state.
  void load_state(const TensorMap& state);

 private:
  GradScalerOptions options_;
  at::Tensor scale_;
  at::Tensor growth_tracker_;
};

}  // namespace headrace::inline v1::training
