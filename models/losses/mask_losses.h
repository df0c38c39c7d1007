#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
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

struct StructureLossOptions {
  /// The published code's form, whose cross entropy is a plain mean: there a string stands where an
  /// old argument wants a truth value, so the weights cancel.
  bool legacy = false;
  std::optional<std::int64_t> ignore = {};  ///< value of targets that give nothing
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// The structure loss of F3Net (Wei, Wang, Huang, AAAI 2020), which PraNet and SINet use: of each
/// mask and row binary cross entropy plus 1 - (I + 1) / (U - I + 1), pixels weighted in both by 1 +
/// 5 |mean of the 31 x 31 targets around - target|, most at edges; then the mean over masks, and
/// over rows. I is the weighted sum of probability times target, U that of both. What lies outside,
/// or is ignored, counts as 0 in the mean around. `logits` are `[N, K, H, W]` of K masks that
/// exclude nothing; `target` is of the same shape, or with one channel also without its axis;
/// values in [0, 1] of any type. Computed in float from half precision, in double from double. A
/// mask without anything that counts has loss 0. The weight is that of the rows. Throws
/// `ConfigError` for other shapes.
HEADRACE_API MeanLoss structure_loss(const at::Tensor& logits, const at::Tensor& target,
                                     const StructureLossOptions& options = {});

struct EdgeLossOptions {
  /// Value of targets that give nothing: no 3 x 3 pixels with one of them count.
  std::optional<std::int64_t> ignore = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient.
  at::Tensor of_samples = {};
};

/// Mean squared difference of the Sobel gradient magnitudes of `sigmoid(logits)` and of the target,
/// over all pixels that count. The magnitude is sqrt(gx^2 + gy^2 + 1e-6), so that its gradient is
/// finite where nothing changes; beyond the border the outermost pixels go on. `logits` are `[N, K,
/// H, W]` of K masks that exclude nothing; `target` is of the same shape, or with one channel also
/// without its axis; values in [0, 1] of any type. Computed in float from half precision, in double
/// from double. A mask and its opposite have the same edges: this is a term beside others. Zero
/// where nothing counts. Throws `ConfigError` for other shapes.
HEADRACE_API MeanLoss edge_loss(const at::Tensor& logits, const at::Tensor& target,
                                const EdgeLossOptions& options = {});

}  // namespace headrace::inline v1::models
