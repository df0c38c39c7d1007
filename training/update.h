#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/training/adamw.h>
#include <headrace/training/recipe.h>

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::training {

struct UpdateOptions {
  double clip_norm = 0.0;  ///< largest norm of all gradients together; 0: no clipping
  Precision precision = Precision::fp32;
};

/// What a micro-batch gave; on the compute device, without gradient, nothing has waited for it.
struct Forward {
  Output output = {};
  std::vector<Term> terms = {};
  at::Tensor loss = {};    ///< the sum of the terms, a scalar
  at::Tensor weight = {};  ///< of the example; undefined: its rows
  std::int64_t rows = 0;   ///< that are present
};

/// What a step came to, scalars on the compute device.
struct StepOutcome {
  at::Tensor norm = {};     ///< of all gradients, before clipping
  at::Tensor skipped = {};  ///< 1 where it was not finite and nothing was changed, else 0
};

/// One optimiser step over one or more micro-batches. A window's gradient is that of the mean over
/// all its rows (or of what the examples weigh), however they are divided, for losses that are such
/// means; norms over the batch and class weights see their micro-batch. A window that weighs
/// nothing has no gradient, for losses that are finite without a row: one that is 0 / 0 is skipped
/// as any other. A gradient that is not finite changes nothing. Not thread-safe.
class HEADRACE_API Update {
 public:
  /// Course, network and optimiser outlive the update.
  Update(const Course& course, models::Network& network, AdamW& optimizer, UpdateOptions options);

  /// Forward and backward pass of one micro-batch; `alone` says that it is the only one of its
  /// window. Throws `ConfigError` where one micro-batch of a window has a weight and one has not.
  Forward accumulate(const Example& example, const Moment& moment, bool alone);

  /// Clips, steps and drops the gradients.
  StepOutcome finish();

 private:
  at::Tensor summed(const at::Tensor& mean, const Forward& forward);
  void divide();

  const Course& course_;
  models::Network& network_;
  AdamW& optimizer_;
  UpdateOptions options_;
  std::vector<at::Tensor> parameters_;
  std::int64_t summed_rows_ = 0;
  at::Tensor summed_weight_;
  bool weighed_by_rows_ = false;
};

}  // namespace headrace::inline v1::training
