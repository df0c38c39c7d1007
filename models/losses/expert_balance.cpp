#include <headrace/models/losses/expert_balance.h>
#include <headrace/models/losses/mean_loss.h>
#include <headrace/models/networks/detail/refuse.h>

#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace headrace::inline v1::models {

namespace {

void check_shapes(const at::Tensor& logits, const at::Tensor& chosen,
                  const ExpertBalanceOptions& options) {
  const bool fits = logits.dim() == 2 && chosen.dim() == 2 && chosen.size(0) == logits.size(0) &&
                    chosen.scalar_type() == at::kLong;
  if (!fits)
    detail::refuse("expert_balance_loss", "logits must be [N, E] and chosen int64 [N, k], got ",
                   logits.sizes(), " and ", chosen.scalar_type(), ' ', chosen.sizes());
  if (options.of_samples.defined() && options.of_samples.sizes() != logits.sizes().slice(0, 1))
    detail::refuse("expert_balance_loss", "of_samples must be [", logits.size(0), "], got ",
                   options.of_samples.sizes());
}

// Of all assignments those to each expert, as shares of their weights.
at::Tensor shares_of(const at::Tensor& chosen, const at::Tensor& weights, std::int64_t experts) {
  const at::Tensor each = weights.unsqueeze(1).expand(chosen.sizes()).reshape({-1});
  const at::Tensor counts =
      at::zeros({experts}, weights.options()).scatter_add_(0, chosen.flatten(), each);
  const at::Tensor total = counts.sum();
  return at::where(total != 0, counts / at::where(total != 0, total, total + 1), counts * 0);
}

}  // namespace

at::Tensor expert_balance_loss(const at::Tensor& logits, const at::Tensor& chosen,
                               const ExpertBalanceOptions& options) {
  check_shapes(logits, chosen, options);
  const at::Tensor probabilities = at::softmax(detail::in_full_precision(logits), 1);
  const at::Tensor weights =
      options.of_samples.defined()
          ? options.of_samples.detach().to(probabilities.scalar_type())
          : at::ones({logits.size(0)}, probabilities.options().requires_grad(false));
  const at::Tensor shares = shares_of(chosen, weights, logits.size(1));
  const at::Tensor of_rows = (probabilities * shares).sum(1);
  return detail::weighted_mean(of_rows, weights).value *
         (options.factor * static_cast<double>(logits.size(1)));
}

}  // namespace headrace::inline v1::models
