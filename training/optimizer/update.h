#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/optimizer/gradients.h>
#include <headrace/training/optimizer/optimizer.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

struct UpdateOptions {
  at::Device device = at::kCPU;
  double clip_norm = 0.0;  ///< largest norm of all gradients together; 0: no clipping
  Precision precision = Precision::fp32;
  GradScalerOptions scaler = {};  ///< of fp16
};

/// What a micro-batch gave; on the compute device, without gradient, nothing has waited for it.
struct Forward {
  Output output = {};
  std::vector<Term> terms = {};
  at::Tensor loss = {};    ///< the sum of the terms, a scalar
  at::Tensor weight = {};  ///< of the micro-batch in its window; undefined: its rows
  std::int64_t rows = 0;   ///< that are present
};

/// What a step came to, scalars on the compute device.
struct StepOutcome {
  at::Tensor norm = {};     ///< of all gradients, before clipping
  at::Tensor loss = {};     ///< of all micro-batches, double: finite where each of theirs is
  at::Tensor skipped = {};  ///< 1 where one of both was not finite and nothing was changed, else 0
};

/// One optimiser step over one or more micro-batches. A window's gradient is that of the mean over
/// all its rows, however they are divided, for losses that are such means: a micro-batch weighs as
/// its example does (`Example::weight`), or as the first term of its loss that has a weight, or as
/// its rows. Norms over the batch see their micro-batch. A window that weighs
/// nothing has no gradient, for losses that are finite without a row: one that is 0 / 0 is skipped
/// as any other. A loss or a gradient that is not finite changes nothing. With fp16 the loss is
/// scaled, and gradients are scaled back before they are clipped. Not thread-safe.
class HEADRACE_API Update {
 public:
  /// Course, network and optimiser outlive the update.
  Update(const Course& course, models::Network& network, Optimizer& optimizer,
         UpdateOptions options);

  /// Forward and backward pass of one micro-batch; `alone` says that it is the only one of its
  /// window. Throws `ConfigError` where one micro-batch of a window has a weight and one has not.
  Forward accumulate(const Example& example, const Moment& moment, bool alone);

  /// Clips, steps and drops the gradients. Where memory cannot be had, it throws, and has changed
  /// neither weights nor the optimiser's state nor the loss scale: `drop`, and begin anew.
  StepOutcome finish();

  /// Forgets the micro-batches since the last step, and their gradients.
  void drop();

  /// Of fp16; null with any other precision.
  GradScaler* scaler() { return scaler_ ? &*scaler_ : nullptr; }
  const GradScaler* scaler() const { return scaler_ ? &*scaler_ : nullptr; }

 private:
  at::Tensor weighed(const at::Tensor& mean, const Forward& forward);
  void raise_base(const at::Tensor& weight);
  void scale_gradients(const at::Tensor& factor);
  void forget_weights();

  const Course& course_;
  models::Network& network_;
  Optimizer& optimizer_;
  UpdateOptions options_;
  std::optional<GradScaler> scaler_;
  // What the window weighs by now, and the weight that its gradients are counted in: the largest so
  // far. Scalars on the compute device.
  at::Tensor weight_;
  at::Tensor base_;
  bool by_rows_ = false;
  std::int64_t most_rows_ = -1;  // of a micro-batch, where they weigh by rows
  at::Tensor loss_;
};

}  // namespace headrace::inline v1::training
