#include <headrace/models/losses/expert_balance.h>
#include <headrace/models/networks/detail/mixture_parts.h>
#include <headrace/models/networks/detail/refuse.h>

#include <algorithm>
#include <cmath>

#include <ATen/ops/stack.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <torch/nn/modules/conv.h>

namespace headrace::inline v1::models::detail {

void check_mixture(const char* who, const MixtureOptions& options, std::size_t kinds) {
  const auto most = static_cast<std::int64_t>(kinds);
  const std::int64_t experts = options.experts.value_or(most);
  if (experts < 2 || experts > most) refuse(who, "experts must be 2 to ", most, ", got ", experts);
  if (!(options.balance >= 0.0) || !std::isfinite(options.balance))
    refuse(who, "balance must be 0 (no loss) or above, got ", options.balance);
  if (!(options.capacity >= 0.0) || !std::isfinite(options.capacity))
    refuse(who, "capacity must be 0 (no limit) or above, got ", options.capacity);
}

std::shared_ptr<ExpertMixture> make_mixture(std::int64_t channels, const MixtureOptions& options,
                                            std::span<const ExpertMaker> kinds) {
  const std::int64_t count = options.experts.value_or(static_cast<std::int64_t>(kinds.size()));
  ExpertMixture::Experts experts;
  for (const ExpertMaker make : kinds.first(static_cast<std::size_t>(count)))
    experts.push_back(make(channels));
  return std::make_shared<ExpertMixture>(
      ExpertMixtureOptions{.channels = channels,
                           .chosen = std::max<std::int64_t>(2, count / 2),
                           .capacity = options.capacity},
      std::move(experts));
}

namespace {

at::Tensor mean_balance(const std::vector<Mixed>& mixtures, double factor) {
  const double share = factor / static_cast<double>(mixtures.size());
  at::Tensor sum;
  for (const Mixed& mixed : mixtures) {
    const at::Tensor loss = expert_balance_loss(mixed.logits, mixed.chosen, {.factor = share});
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum;
}

at::Tensor expert_load(const std::vector<Mixed>& mixtures) {
  std::vector<at::Tensor> counts;
  for (const Mixed& mixed : mixtures)
    counts.push_back(mixed.counts);
  return at::stack(counts);
}

}  // namespace

Output training_outputs(torch::nn::ModuleList side, const std::vector<at::Tensor>& maps,
                        const std::vector<Mixed>& mixtures, double balance) {
  Output output;
  if (!side.is_empty())
    for (std::size_t i = 3; i-- > 0;)
      output.deep.push_back(side->at<torch::nn::Conv2dImpl>(i).forward(maps[i]));
  output.extra.emplace("expert_load", expert_load(mixtures));
  if (balance > 0.0) output.losses.push_back({"balance", mean_balance(mixtures, balance)});
  return output;
}

at::Tensor resized(const at::Tensor& maps, at::IntArrayRef sides) {
  return at::upsample_bilinear2d(maps, sides, /*align_corners=*/false);
}

}  // namespace headrace::inline v1::models::detail
