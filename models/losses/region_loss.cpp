#include <headrace/engine/base/error.h>
#include <headrace/models/losses/region_loss.h>
#include <headrace/models/losses/targets.h>

#include <numeric>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::models {

namespace {

constexpr double least_divisor = 1e-8;

void require_options(const std::string& loss, const at::Tensor& logits,
                     const RegionLossOptions& options) {
  const std::string who = '[' + loss + "] ";
  if (logits.dim() < 3)
    throw ConfigError(who + "logits must be [N, classes, ...], got " + detail::shape_text(logits));
  if (!options.sigmoid && logits.size(1) < 2)
    throw ConfigError(who + "a softmax needs at least 2 channels, got " +
                      std::to_string(logits.size(1)) + "; set sigmoid");
  if (options.sigmoid && !options.background)
    throw ConfigError(who + "regions of sigmoids have no background to leave out");
  if (!(options.smooth >= 0.0))
    throw ConfigError(who + "smooth must not be negative, got " + std::to_string(options.smooth));
}

// Class indices `[N, ...]` as `[N, K, ...]`, whether each class is there. Not one_hot: it reads the
// largest.
at::Tensor presence(const at::Tensor& indices, std::int64_t classes) {
  const at::Tensor each = at::arange(classes, indices.options());
  return indices.unsqueeze(1) == detail::beside_axes(each, indices.dim());
}

// Sums of each class, `[N, K]` or of all rows `[K]`.
struct Overlap {
  at::Tensor both;
  at::Tensor predicted;
  at::Tensor truth;
};

bool are_indices(const at::Tensor& logits, const at::Tensor& target,
                 const RegionLossOptions& options) {
  return !options.sigmoid && !target.is_floating_point() &&
         target.sizes() == logits.select(1, 0).sizes();
}

Overlap overlap(const std::string& loss, const at::Tensor& logits, const at::Tensor& target,
                const RegionLossOptions& options) {
  require_options(loss, logits, options);
  const at::Tensor full = detail::in_full_precision(logits);
  const at::ScalarType type = full.scalar_type();
  const bool indices = are_indices(logits, target, options);
  const at::Tensor given =
      indices ? target.to(at::kLong) : detail::channel_targets(loss, logits, target).to(type);
  const at::Tensor counts = detail::counted_targets(indices ? given.unsqueeze(1) : given,
                                                    options.of_samples, options.ignore);
  at::Tensor p = options.sigmoid ? at::sigmoid(full) : at::softmax(full, 1);
  at::Tensor truth = indices ? presence(given, logits.size(1)) : given;
  if (counts.defined()) {
    p = at::where(counts, p, 0.0);
    truth = indices ? truth & counts : at::where(counts, truth, 0.0);
  }
  if (!options.background) {
    p = p.narrow(1, 1, p.size(1) - 1);
    truth = truth.narrow(1, 1, truth.size(1) - 1);
  }
  std::vector<std::int64_t> axes(static_cast<std::size_t>(p.dim() - 2));
  std::iota(axes.begin(), axes.end(), 2);
  if (options.batch) axes.push_back(0);
  return {.both = (p * truth).sum(axes),
          .predicted = p.sum(axes),
          .truth = truth.sum(axes, /*keepdim=*/false, type)};
}

// Of fractions of each class, `[N, K]` or of all rows `[K]`.
MeanLoss mean_of_fractions(const at::Tensor& fractions, const at::Tensor& logits,
                           const RegionLossOptions& options) {
  const at::Tensor losses = 1.0 - fractions;
  if (!options.batch) return detail::weighted_mean(losses.mean(1), options.of_samples);
  return {.value = losses.mean(),
          .weight = options.of_samples.defined()
                        ? options.of_samples.to(losses.scalar_type()).sum()
                        : at::full({}, static_cast<double>(logits.size(0)), losses.options())};
}

}  // namespace

MeanLoss soft_dice_loss(const at::Tensor& logits, const at::Tensor& target,
                        const RegionLossOptions& options) {
  const auto [both, predicted, truth] = overlap("soft_dice_loss", logits, target, options);
  const at::Tensor divisor = at::clamp_min(predicted + truth + options.smooth, least_divisor);
  return mean_of_fractions((both * 2.0 + options.smooth) / divisor, logits, options);
}

MeanLoss soft_iou_loss(const at::Tensor& logits, const at::Tensor& target,
                       const RegionLossOptions& options) {
  const auto [both, predicted, truth] = overlap("soft_iou_loss", logits, target, options);
  const at::Tensor divisor =
      at::clamp_min(predicted + truth - both + options.smooth, least_divisor);
  return mean_of_fractions((both + options.smooth) / divisor, logits, options);
}

}  // namespace headrace::inline v1::models
