#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/models/losses/mean_loss.h>

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// How the rows of a classification loss are put together, and the pixels of rows that are images
/// or volumes.
struct ClassificationWeights {
  /// One factor per class `[K]`, on the logits' device, or undefined: the mean is then `sum w[y] *
  /// loss / sum w[y]`, with soft targets `sum w[k] t[k] loss[k] / sum w[k] t[k]`, so that one-hot
  /// labels are those classes (PyTorch divides the same sum by the rows). Smoothing adds to what is
  /// summed as `CrossEntropyOptions` says, to what it is divided by nothing.
  at::Tensor of_classes = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient,
  /// whatever their target.
  at::Tensor of_samples = {};
  /// Class index of rows and pixels that weigh nothing; may lie outside of the classes, or be one.
  std::optional<std::int64_t> ignore = {};
};

struct CrossEntropyOptions {
  /// Share of each target that is spread evenly over all classes, in [0, 1): the loss of a row is
  /// `(1 - eps) w[y] loss[y] + eps / K sum w[k] loss[k]`, as PyTorch's.
  double label_smoothing = 0.0;
  ClassificationWeights weights = {};
  /// Not negative; above 0 each class's loss is the focal `(1 - p)^gamma * -log p`.
  double gamma = 0.0;
};

/// What a mean of such a loss divides by, a scalar of `options`: the sum of the weights of the
/// rows' (or pixels') classes and of the rows, of soft labels `[N, K]` by their shares; without
/// weights the number of targets. For `training::Term::weight`.
HEADRACE_API at::Tensor sum_of_weights(const at::Tensor& target,
                                       const ClassificationWeights& weights,
                                       const at::TensorOptions& options);

/// Mean cross entropy of `logits` `[N, K]` and `target`, class indices `[N]` of integers or soft
/// labels `[N, K]` of floats that sum to one a row; or of images and volumes, logits `[N, K, ...]`
/// and class indices `[N, ...]`, over all pixels. Computed in float from half precision and in
/// double from double. If all weights are zero the loss is zero. Throws `ConfigError` for a
/// smoothing or gamma outside its range and for other shapes.
HEADRACE_API MeanLoss mean_cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                                         const CrossEntropyOptions& options = {});

/// The value of `mean_cross_entropy`.
HEADRACE_API at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                                      const CrossEntropyOptions& options = {});

struct FocalLossOptions {
  /// Factor of the whole loss.
  double alpha = 1.0;
  /// How strongly rows that are already right are discounted; 0 gives cross entropy.
  double gamma = 2.0;
  ClassificationWeights weights = {};
};

/// Mean focal loss `alpha * (1 - p)^gamma * -log p`, p the probability of the right class by
/// log-softmax (of soft labels that of each class by its share): `cross_entropy` with a gamma,
/// which says what shapes there are. A scalar. The gradient stays useful for logits that are wrong
/// and large. Throws `ConfigError` for a negative gamma. Lin et al., "Focal Loss for Dense Object
/// Detection", 2017.
HEADRACE_API at::Tensor focal_loss(const at::Tensor& logits, const at::Tensor& target,
                                   const FocalLossOptions& options = {});

/// A known defect, kept to show what it costs: the focal loss behind logits that were clamped to
/// [1e-7, 1 - 1e-7] as if they were probabilities. No class of five can get a probability above e /
/// (e + 4) = .4046, and a logit outside the interval has no gradient, so a network trained with it
/// learns next to nothing. Never use it to train.
HEADRACE_API at::Tensor clamped_focal_loss(const at::Tensor& logits, const at::Tensor& target,
                                           const FocalLossOptions& options = {});

}  // namespace headrace::inline v1::models
