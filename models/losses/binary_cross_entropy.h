#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

struct BinaryCrossEntropyOptions {
  /// One factor per channel `[K]` of the loss of what is present, on the logits' device, or
  /// undefined; of rare labels often negatives / positives.
  at::Tensor positive_weights = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient,
  /// whatever their target.
  at::Tensor of_samples = {};
  /// Not negative; above 0 the loss is focal: times the power gamma of what the probability misses.
  double gamma = 0.0;
  /// Value of targets that weigh nothing: pixels nobody has marked, labels nobody knows.
  std::optional<double> ignore = {};
};

/// Mean binary cross entropy of `logits` `[N, K]` of K labels that exclude nothing, or `[N, K,
/// ...]` of K such masks, over all that counts. `target` is of the same shape, or with one channel
/// also without its axis; values in [0, 1] of any type. Computed from the logits, in float from
/// half precision and in double from double. Zero where all weights are. Throws `ConfigError` for a
/// negative gamma, for other shapes, and for positive weights that are not one a channel.
HEADRACE_API MeanLoss mean_binary_cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                                                const BinaryCrossEntropyOptions& options = {});

}  // namespace headrace::inline v1::models
