#include <headrace/models/losses/mean_loss.h>

#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace headrace::inline v1::models::detail {

at::Tensor in_full_precision(const at::Tensor& logits) {
  const at::ScalarType type = logits.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 ? logits.to(at::kFloat) : logits;
}

at::Tensor beside_axes(const at::Tensor& rows, std::int64_t axes) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(axes), 1);
  shape.front() = rows.size(0);
  return rows.view(shape);
}

at::Tensor times(const at::Tensor& losses, const at::Tensor& factors) {
  if (!factors.defined()) return losses;
  // Before they are multiplied: 0 * inf is not zero, nor is its gradient.
  return at::where(factors != 0, losses, at::zeros_like(losses)) * factors;
}

MeanLoss mean_of(const at::Tensor& sum, const at::Tensor& total) {
  return {.value = at::where(total != 0, sum / at::where(total != 0, total, total + 1), sum * 0),
          .weight = total};
}

MeanLoss weighted_mean(const at::Tensor& losses, const at::Tensor& factors) {
  if (!factors.defined())
    return {.value = losses.mean(),
            .weight = at::full({}, static_cast<double>(losses.numel()), losses.options())};
  const at::Tensor factor = factors.to(losses.scalar_type()).expand_as(losses);
  return mean_of(times(losses, factor).sum(), factor.sum());
}

}  // namespace headrace::inline v1::models::detail
