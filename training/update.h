#pragma once

#include <ATen/core/Tensor.h>
#include <headrace/engine/base/export.h>
#include <headrace/models/network.h>
#include <headrace/training/adamw.h>
#include <headrace/training/autocast.h>
#include <headrace/training/example.h>

#include <cstdint>
#include <functional>

namespace headrace::inline v1::training {

/// Mean loss of logits `[N, ...]` against targets over the rows that are present (all, if
/// undefined): a scalar.
using Loss = std::function<at::Tensor(const at::Tensor& logits, const at::Tensor& target,
                                      const at::Tensor& present)>;

struct UpdateOptions {
  double clip_norm = 0.0;  ///< largest norm of all gradients together; 0: no clipping, and no check
                           ///< that it is finite
  Precision precision = Precision::fp32;
};

/// What a micro-batch gave; on the compute device, nothing has waited for it.
struct Forward {
  at::Tensor logits;      ///< without gradient
  at::Tensor loss;        ///< mean over the rows, without gradient
  std::int64_t rows = 0;  ///< that are present
};

/// One optimiser step over one or more micro-batches. A window's gradient is that of the mean over
/// all its rows, however they are divided, for losses that are means over rows; norms over the
/// batch and class weights see their micro-batch. Not thread-safe.
class HEADRACE_API Update {
 public:
  /// Network, loss and optimiser outlive the update.
  Update(models::Network& network, const Loss& loss, AdamW& optimizer, UpdateOptions options);

  /// Forward and backward pass of one micro-batch; `alone` says that it is the only one of its
  /// window.
  Forward accumulate(const Example& example, bool alone);

  /// Clips, steps and drops the gradients. Gives the norm of the gradients before clipping, a
  /// scalar as `clip_gradients` gives it, undefined without clipping: where it is not finite, the
  /// step was skipped.
  at::Tensor finish();

 private:
  models::Network& network_;
  const Loss& loss_;
  AdamW& optimizer_;
  UpdateOptions options_;
  std::vector<at::Tensor> parameters_;
  std::int64_t summed_rows_ = 0;
};

}  // namespace headrace::inline v1::training
