#pragma once

#include <headrace/engine/base/export.h>

#include <ATen/core/Tensor.h>

namespace headrace::inline v1::models {

/// How the rows of a classification loss are put together.
struct ClassificationWeights {
  /// One factor per class `[K]`, on the logits' device, or undefined: the mean is then `sum w[y] *
  /// loss / sum w[y]`, with soft targets `sum w[k] t[k] loss[k] / sum w[k] t[k]`.
  at::Tensor of_classes = {};
  /// One factor per row `[N]`, or undefined: rows of weight zero give neither value nor gradient,
  /// whatever their target.
  at::Tensor of_samples = {};
};

struct CrossEntropyOptions {
  /// Share of each target that is spread evenly over all classes, in [0, 1).
  double label_smoothing = 0.0;
  ClassificationWeights weights = {};
};

/// What a mean of such a loss divides by, a scalar of `options`: the sum of the weights of the
/// rows' classes and of the rows, of soft labels `[N, K]` by their shares; without weights the
/// rows. For `training::Term::weight`.
HEADRACE_API at::Tensor sum_of_weights(const at::Tensor& target,
                                       const ClassificationWeights& weights,
                                       const at::TensorOptions& options);

/// Mean cross entropy of `logits` `[N, K]` and `target`, class indices `[N]` int64 or soft labels
/// `[N, K]` of floats that sum to one a row: a scalar, computed in float from half precision and in
/// double from double. The smoothed target is `eps / K + (1 - eps) * onehot`. If all weights are
/// zero the loss is zero. Throws `ConfigError` for a smoothing outside its range and for other
/// shapes.
HEADRACE_API at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& target,
                                      const CrossEntropyOptions& options = {});

namespace detail {

/// Half-precision logits as float, others unchanged.
HEADRACE_API at::Tensor in_full_precision(const at::Tensor& logits);

/// `[N]` targets, or `[N, K]` soft ones, with class 0 (soft: zeros) where a row has weight zero:
/// what is there may be no class at all, as the fill of a padded batch, and an index outside ends a
/// device's program.
HEADRACE_API at::Tensor counted_targets(const at::Tensor& target, const at::Tensor& of_samples);

/// The columns of `[N, K]` rows that targets speak of: `[N, 1]` of class indices, all of soft ones.
HEADRACE_API at::Tensor of_targets(const at::Tensor& rows, const at::Tensor& target);

/// Mean over the rows of what losses of the columns of `of_targets` come to: of soft targets that
/// is `sum t[k] losses[k]`. Targets are those of `counted_targets`. Zero where the weights sum to
/// zero.
HEADRACE_API at::Tensor mean_of_targets(const at::Tensor& losses, const at::Tensor& target,
                                        const ClassificationWeights& weights);

/// Throws `ConfigError` unless there are `[N, K]` logits and a target of `[N]` or `[N, K]`.
HEADRACE_API void require_rows(const char* loss, const at::Tensor& logits,
                               const at::Tensor& target);

/// Mean of `[N]` losses under the weights; zero where their sum is zero.
HEADRACE_API at::Tensor weighted_mean(const at::Tensor& losses, const at::Tensor& target,
                                      const ClassificationWeights& weights);

}  // namespace detail

}  // namespace headrace::inline v1::models
