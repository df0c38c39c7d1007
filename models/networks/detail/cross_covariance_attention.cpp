#include <headrace/models/networks/detail/cross_covariance_attention.h>

#include <ATen/Functions.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr double least_length = 1e-12;

// Rows of length 1, in half precision by float: squares of small values would be lost.
at::Tensor unit_rows(const at::Tensor& rows) {
  const bool is_half = rows.scalar_type() == at::kHalf || rows.scalar_type() == at::kBFloat16;
  const at::Tensor wide = is_half ? rows.to(at::kFloat) : rows;
  return wide / at::linalg_vector_norm(wide, 2, {-1}, /*keepdim=*/true).clamp_min(least_length);
}

}  // namespace

CrossCovarianceAttention::CrossCovarianceAttention(std::int64_t channels, std::int64_t heads)
    : heads_(heads),
      temperature_(register_parameter("temperature", at::ones({heads, 1, 1}))),
      qkv_(register_module("qkv", torch::nn::Linear(channels, 3 * channels))),
      proj_(register_module("proj", torch::nn::Linear(channels, channels))) {}

at::Tensor CrossCovarianceAttention::forward(const at::Tensor& tokens) {
  const std::int64_t rows = tokens.size(0);
  const std::int64_t count = tokens.size(1);
  const std::int64_t channels = tokens.size(2);
  // [3, N, heads, channels of a head, tokens]
  const at::Tensor all =
      qkv_(tokens).view({rows, count, 3, heads_, channels / heads_}).permute({2, 0, 3, 4, 1});
  const at::Tensor likeness = at::matmul(unit_rows(all[0]), unit_rows(all[1]).transpose(-2, -1));
  const at::Tensor weights = (likeness * temperature_).softmax(-1).to(all.scalar_type());
  const at::Tensor mixed = at::matmul(weights, all[2]).permute({0, 3, 1, 2});
  return proj_(mixed.reshape({rows, count, channels}));
}

}  // namespace headrace::inline v1::models::detail
