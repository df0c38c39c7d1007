#include <headrace/engine/base/error.h>
#include <headrace/models/losses/class_weights.h>
#include <headrace/models/losses/cross_entropy.h>
#include <headrace/models/losses/leak_loss.h>

#include <numeric>
#include <string>

#include <ATen/ops/binary_cross_entropy_with_logits.h>

namespace headrace::inline v1::models {

LeakLossTerms leak_loss_terms(const at::Tensor& output, const at::Tensor& target,
                              const LeakLossOptions& options) {
  if (output.dim() != 2 || output.size(1) < 3)
    throw ConfigError("[leak_loss] output must be [N, classes + 1], got " +
                      std::to_string(output.dim()) + " axes and " +
                      std::to_string(output.dim() == 2 ? output.size(1) : 0) + " columns");
  const std::int64_t classes = output.size(1) - 1;
  const at::Tensor full = detail::in_full_precision(output);
  ClassificationWeights weights{.of_classes = options.class_weights};
  if (options.present.defined()) weights.of_samples = options.present.to(full.scalar_type());
  LeakLossTerms terms{
      .classes = cross_entropy(full.narrow(1, 0, classes), target, {.weights = weights}),
      .weight = sum_of_weights(target, weights, full.options())};
  const at::Tensor is_leak = (target == options.leak).to(full.scalar_type());
  const at::Tensor each = at::binary_cross_entropy_with_logits(full.select(1, classes), is_leak, {},
                                                               {}, at::Reduction::None);
  terms.auxiliary = detail::weighted_mean(each, weights.of_samples).value;
  return terms;
}

at::Tensor leak_loss(const at::Tensor& output, const at::Tensor& target,
                     const LeakLossOptions& options) {
  const LeakLossTerms terms = leak_loss_terms(output, target, options);
  return terms.classes + options.auxiliary * terms.auxiliary;
}

std::vector<float> leak_class_weights(std::span<const std::int64_t> counts, std::int64_t leak,
                                      double boost) {
  std::vector<double> weights = inverse_frequency_weights(counts);
  if (leak >= 0 && leak < std::ssize(weights)) weights[static_cast<std::size_t>(leak)] *= boost;
  const double mean =
      std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  std::vector<float> scaled;
  for (const double weight : weights)
    scaled.push_back(static_cast<float>(weight / mean));
  return scaled;
}

}  // namespace headrace::inline v1::models
