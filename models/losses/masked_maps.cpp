#include <headrace/engine/base/error.h>
#include <headrace/models/losses/masked_maps.h>
#include <headrace/models/losses/targets.h>

#include <limits>
#include <string>

#include <ATen/ops/full.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>

namespace headrace::inline v1::models {

MaskedMaps masked_maps(const at::Tensor& logits, const at::Tensor& target,
                       const MaskedMapsOptions& options) {
  if ((logits.dim() != 4 && logits.dim() != 5) || logits.size(1) != 1)
    throw ConfigError(
        "[masked_maps] logits must be [N, 1, height, width] or [N, 1, depth, height, width], got " +
        detail::shape_text(logits));
  const at::Tensor full = detail::in_full_precision(logits);
  const at::ScalarType type = full.scalar_type();
  const at::Tensor given = detail::channel_targets("masked_maps", logits, target);
  const at::Tensor counts = detail::counted_targets(given, options.of_samples, options.ignore);
  MaskedMaps maps;
  if (options.of_samples.defined()) maps.of_samples = options.of_samples.to(type);
  if (!counts.defined()) {
    maps.p = at::sigmoid(full);
    maps.truth = given.to(type);
    maps.counts =
        at::full({full.size(0)}, static_cast<double>(c10::multiply_integers(full.sizes().slice(1))),
                 full.options());
    return maps;
  }
  maps.valid = counts;
  // The sigmoid of -inf is exactly 0 and has exactly no gradient.
  maps.p = at::sigmoid(at::where(counts, full, -std::numeric_limits<double>::infinity()));
  maps.truth = at::where(counts, given, 0).to(type);
  maps.counts = detail::sum_of_rows(counts.expand_as(full)).to(type);
  return maps;
}

namespace detail {

at::Tensor counted_companion(const std::string& loss, const at::Tensor& given,
                             const MaskedMaps& maps) {
  const at::Tensor own = channel_targets(loss, maps.p, given).to(maps.p.scalar_type());
  return maps.valid.defined() ? at::where(maps.valid, own, 0.0) : own;
}

at::Tensor sum_of_rows(const at::Tensor& maps) {
  return maps.flatten(1).sum(1);
}

MeanLoss mean_of_counted(const at::Tensor& losses, const MaskedMaps& maps) {
  const bool weighted = maps.of_samples.defined();
  const at::Tensor sums = sum_of_rows(losses);
  const at::Tensor sum = weighted ? (sums * maps.of_samples).sum() : sums.sum();
  const at::Tensor total = weighted ? (maps.counts * maps.of_samples).sum() : maps.counts.sum();
  return {.value = at::where(total != 0, sum / at::where(total != 0, total, total + 1), sum * 0),
          .weight = total};
}

}  // namespace detail

}  // namespace headrace::inline v1::models
