#pragma once

#include <headrace/models/networks/expert_mixture.h>

#include <cstdint>
#include <memory>

/// The experts of the networks for camouflaged objects, of so many channels, a multiple of 4. All
/// their norms are group norms, and fixed filters are sums and differences, no state.
namespace headrace::inline v1::models::detail {

using ExpertMaker = std::shared_ptr<Expert> (*)(std::int64_t channels);

/// Four branches of dilation 1 to 4, each with a quarter of the channels.
std::shared_ptr<Expert> texture_expert(std::int64_t channels);

/// Attention between all pixels, linear in their number (Katharopoulos et al., arXiv 2006.16236).
std::shared_ptr<Expert> linear_attention_expert(std::int64_t channels);

/// A separable 5x5 convolution whose channels are weighed by what the map is on average.
std::shared_ptr<Expert> hybrid_expert(std::int64_t channels);

/// What is smooth and what is not, on their own.
std::shared_ptr<Expert> frequency_expert(std::int64_t channels);

/// Sobel's gradient and the Laplacian of each channel.
std::shared_ptr<Expert> edge_expert(std::int64_t channels);

/// Averages over 8 x 8, 4 x 4, 2 x 2 fields and the whole map.
std::shared_ptr<Expert> context_expert(std::int64_t channels);

/// How a pixel differs from what a 3x3 filter makes of its neighbours.
std::shared_ptr<Expert> contrast_expert(std::int64_t channels);

/// A separable 7x7 convolution.
std::shared_ptr<Expert> wide_expert(std::int64_t channels);

/// How a pixel differs from the average of its neighbours.
std::shared_ptr<Expert> edge_difference_expert(std::int64_t channels);

}  // namespace headrace::inline v1::models::detail
