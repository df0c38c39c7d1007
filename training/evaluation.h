#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/loader/loader.h>
#include <headrace/models/metrics.h>
#include <headrace/models/network.h>
#include <headrace/training/update.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace headrace::inline v1::training {

struct EvaluationOptions {
  std::int64_t classes = 0;  ///< of the confusion matrix; 0: none is kept
  at::Device device = at::kCPU;
  Precision precision = Precision::fp32;
  /// Given the logits of every batch, without gradient; empty: none.
  std::function<void(const Batch& batch, const Example& example, const at::Tensor& logits)>
      on_logits = {};
};

struct Evaluation {
  double loss = 0.0;  ///< mean over all rows, NaN without rows
  std::int64_t samples = 0;
  std::optional<models::ConfusionMatrix> confusion = {};
  double seconds = 0.0;

  /// Of the confusion matrix; NaN without one.
  double accuracy() const;
};

/// Runs an epoch of `loader` through the network in evaluation mode, without gradients and with the
/// loader's own batch size; puts the network's mode back. Sums are over rows, so batches may differ
/// in size. Empty if `stop` asked to end before it was done. Throws what the loader throws.
HEADRACE_API std::optional<Evaluation> evaluate(models::Network& network, Loader& loader,
                                                const Unpack& unpack, const Loss& loss,
                                                const EvaluationOptions& options = {},
                                                std::stop_token stop = {});

}  // namespace headrace::inline v1::training
