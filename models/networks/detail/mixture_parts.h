#pragma once

#include <headrace/models/networks/architecture_options.h>
#include <headrace/models/networks/detail/camouflage_experts.h>
#include <headrace/models/networks/expert_mixture.h>
#include <headrace/models/networks/network.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <torch/nn/modules/container/modulelist.h>

/// What the networks with mixtures of experts share.
namespace headrace::inline v1::models::detail {

/// Throws `ConfigError` in the name of `who` for experts outside 2 to the number of kinds, and for
/// a balance or capacity below 0.
void check_mixture(const char* who, const MixtureOptions& options, std::size_t kinds);

/// A mixture of the first kinds, as many as asked for, of which each sample takes half, at least
/// two.
std::shared_ptr<ExpertMixture> make_mixture(std::int64_t channels, const MixtureOptions& options,
                                            std::span<const ExpertMaker> kinds);

/// What only training looks at: in `deep` the logits of the decoder's maps by `side`, unless that
/// is empty, the finest first; in `extra` "expert_load", assignments of each expert of a batch,
/// int64 `[mixtures, E]`; where `balance` is above 0 the loss of that name, the mixtures' mean
/// times it.
Output training_outputs(torch::nn::ModuleList side, const std::vector<at::Tensor>& maps,
                        const std::vector<Mixed>& mixtures, double balance);

/// Bilinear, without aligned corners.
at::Tensor resized(const at::Tensor& maps, at::IntArrayRef sides);

}  // namespace headrace::inline v1::models::detail
