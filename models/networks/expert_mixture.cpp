#include <headrace/engine/base/error.h>
#include <headrace/models/networks/detail/part_list.h>
#include <headrace/models/networks/detail/refuse.h>
#include <headrace/models/networks/expert_mixture.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/init.h>

namespace headrace::inline v1::models {

namespace {

namespace nn = torch::nn;

constexpr const char* mixture_name = "ExpertMixture";
constexpr double gate_deviation = 0.01;  // nearly even at first

void check(const ExpertMixtureOptions& options, std::int64_t experts) {
  if (options.channels < 1)
    detail::refuse(mixture_name, "channels must be at least 1, got ", options.channels);
  if (options.chosen < 1 || options.chosen > experts)
    detail::refuse(mixture_name, "chosen must be 1 to the number of experts, ", experts, ", got ",
                   options.chosen);
  if (!(options.capacity >= 0.0) || !std::isfinite(options.capacity))
    detail::refuse(mixture_name, "capacity must be 0 (no limit) or above, got ", options.capacity);
}

void check_maps(const at::Tensor& maps, std::int64_t channels) {
  if (maps.dim() == 4 && maps.size(1) == channels) return;
  std::ostringstream message;
  message << '[' << mixture_name << "] maps must be [N, " << channels << ", H, W], got "
          << maps.sizes();
  throw DataError(message.str());
}

// In which sums are made.
at::ScalarType full_type(const at::Tensor& tensor) {
  return at::promote_types(tensor.scalar_type(), at::kFloat);
}

at::Tensor counts_of(const at::Tensor& chosen, std::int64_t experts) {
  const at::Tensor flat = chosen.flatten();
  return at::zeros({experts}, flat.options()).scatter_add_(0, flat, at::ones_like(flat));
}

}  // namespace

// Of each expert the rows that it works on, all `[E, rows]`.
struct ExpertMixture::Routes {
  at::Tensor samples;  // int64
  at::Tensor shares;   // of the samples' results; 0 where unused
  at::Tensor unused;   // bool: another expert's, there to fill the rows
};

ExpertMixture::ExpertMixture(const ExpertMixtureOptions& options, Experts experts)
    : options_(options), experts_(std::move(experts)) {
  const auto count = static_cast<std::int64_t>(experts_.size());
  check(options_, count);
  gate_ = register_module("gate",
                          nn::Conv2d(nn::Conv2dOptions(options_.channels, count, /*kernel=*/1)));
  nn::init::normal_(gate_->weight, 0.0, gate_deviation);
  nn::init::zeros_(gate_->bias);
  auto list = register_module("experts", std::make_shared<detail::PartList<Expert>>());
  for (const auto& expert : experts_)
    list->add(expert);
  load_ = register_buffer("load", at::zeros({count}));
  add_block("experts", {list});
}

Mixed ExpertMixture::forward(const at::Tensor& maps) {
  check_maps(maps, options_.channels);
  Mixed mixed{.logits = gate_logits(maps)};
  at::Tensor best;
  std::tie(best, mixed.chosen) = at::topk(mixed.logits, options_.chosen, 1);
  mixed.counts = counts_of(mixed.chosen, gate_->options.out_channels());
  if (is_training()) {
    const at::NoGradGuard no_gradient;
    load_.add_(mixed.counts);
  }
  const Routes routes = routes_of(mixed.chosen, at::softmax(best, 1));
  mixed.maps = run_block(
      "experts",
      [this](const at::Tensor& x, at::Tensor samples, at::Tensor shares, at::Tensor unused) {
        return mix(x, {std::move(samples), std::move(shares), std::move(unused)});
      },
      maps, routes.samples, routes.shares, routes.unused);
  return mixed;
}

// A product and a sum, which autocast leaves in full precision.
at::Tensor ExpertMixture::gate_logits(const at::Tensor& maps) const {
  const at::Tensor means = maps.mean({2, 3}, /*keepdim=*/false, full_type(maps));
  return (means.unsqueeze(1) * gate_->weight.flatten(1)).sum(2) + gate_->bias;
}

// An expert's rows are a window of the assignments in the order of their experts: from where its
// own begin, as many as it may get. What lies behind its own is unused.
ExpertMixture::Routes ExpertMixture::routes_of(const at::Tensor& chosen,
                                               const at::Tensor& shares) const {
  const std::int64_t assignments = chosen.numel();
  const at::Tensor order = at::argsort(chosen.flatten(), /*stable=*/true);
  const at::Tensor counts = counts_of(chosen, gate_->options.out_channels());
  const at::Tensor begins = (counts.cumsum(0) - counts).unsqueeze(1);
  const at::Tensor places = at::arange(rows_of_expert(chosen.size(0)), chosen.options());
  const at::Tensor unused = places >= counts.unsqueeze(1);
  const at::Tensor window = (begins + places).clamp_max(assignments - 1);
  const at::Tensor taken = order.index_select(0, window.flatten());
  return {.samples = taken.div(options_.chosen, "floor").view(unused.sizes()),
          .shares =
              shares.flatten().index_select(0, taken).view(unused.sizes()).masked_fill(unused, 0.0),
          .unused = unused};
}

std::int64_t ExpertMixture::rows_of_expert(std::int64_t samples) const {
  if (options_.capacity == 0.0 || !is_training()) return samples;
  const double even = static_cast<double>(samples * options_.chosen) /
                      static_cast<double>(gate_->options.out_channels());
  return std::min(samples, static_cast<std::int64_t>(std::ceil(options_.capacity * even)));
}

// Unused rows are zeros before an expert and behind it: 0 * inf of another's sample would be NaN.
at::Tensor ExpertMixture::mix(const at::Tensor& maps, const Routes& routes) const {
  const auto layout = maps.suggest_memory_format();
  at::Tensor sum = at::zeros_like(maps, maps.options().dtype(full_type(maps)), layout);
  for (std::size_t i = 0; i < experts_.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    const at::Tensor samples = routes.samples[number];
    const at::Tensor unused = routes.unused[number].view({-1, 1, 1, 1});
    const at::Tensor made = experts_[i]->forward(
        maps.index_select(0, samples).masked_fill_(unused, 0.0).contiguous(layout));
    if (made.dim() != 4 || made.sizes().slice(1) != maps.sizes().slice(1))
      detail::refuse(mixture_name, "an expert must give maps of the shape that it gets, got ",
                     made.sizes(), " from expert ", i, " of maps ", maps.sizes());
    const at::Tensor shares = routes.shares[number].view({-1, 1, 1, 1});
    sum.index_add_(0, samples, (made * shares).masked_fill_(unused, 0.0).to(sum.scalar_type()));
  }
  return sum.to(maps.scalar_type());
}

double load_evenness(const at::Tensor& load) {
  const at::Tensor counts = load.detach().to(at::kCPU, at::kDouble);
  const double total = counts.sum().item<double>();
  if (!(total > 0.0) || counts.numel() < 2) return 0.0;
  const at::Tensor shares = counts / total;
  return -at::xlogy(shares, shares).sum().item<double>() /
         std::log(static_cast<double>(counts.numel()));
}

}  // namespace headrace::inline v1::models
