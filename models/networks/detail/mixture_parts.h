#pragma once

#include <headrace/models/networks/architecture_options.h>
#include <headrace/models/networks/detail/camouflage_experts.h>
#include <headrace/models/networks/expert_mixture.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// What the networks with mixtures of experts share.
namespace headrace::inline v1::models::detail {

/// Throws `ConfigError` in the name of `who` for experts outside 2 to the number of kinds, and for
/// a balance or capacity below 0.
void check_mixture(const char* who, const MixtureOptions& options, std::size_t kinds);

/// A mixture of the first kinds, as many as asked for, of which each sample takes half, at least
/// two.
std::shared_ptr<ExpertMixture> make_mixture(std::int64_t channels, const MixtureOptions& options,
                                            std::span<const ExpertMaker> kinds);

/// Mean balance loss of the mixtures, times `factor`.
at::Tensor mean_balance(const std::vector<Mixed>& mixtures, double factor);

/// Name of `expert_load` among a network's outputs.
inline constexpr const char* load_output = "expert_load";

/// Assignments of each expert of a batch, int64 `[mixtures, E]`.
at::Tensor expert_load(const std::vector<Mixed>& mixtures);

/// Bilinear, without aligned corners.
at::Tensor resized(const at::Tensor& maps, at::IntArrayRef sides);

}  // namespace headrace::inline v1::models::detail
