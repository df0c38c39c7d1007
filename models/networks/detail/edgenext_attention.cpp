#include <headrace/models/networks/detail/edgenext_attention.h>

#include <cmath>
#include <numbers>

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>

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

namespace {

constexpr std::int64_t channels_of_axis = 32;
constexpr double temperature = 1e4;
constexpr double eps = 1e-6;

// [channels_of_axis, side]
at::Tensor along(std::int64_t side, const at::TensorOptions& options) {
  const double turn = 2.0 * std::numbers::pi / (static_cast<double>(side) + eps);
  const at::Tensor angles = at::arange(1, side + 1, options) * turn;
  const double step = -2.0 * std::log(temperature) / channels_of_axis;
  const at::Tensor rates = (at::arange(channels_of_axis / 2, options) * step).exp();
  const at::Tensor waves = rates.unsqueeze(1) * angles;
  return at::stack({waves.sin(), waves.cos()}, 1).flatten(0, 1);
}

}  // namespace

at::Tensor fourier_encoding(std::int64_t height, std::int64_t width,
                            const at::TensorOptions& options) {
  const at::TensorOptions exact = options.dtype(at::kDouble);
  const at::Tensor y = along(height, exact).unsqueeze(2).expand({-1, -1, width});
  const at::Tensor x = along(width, exact).unsqueeze(1).expand({-1, height, -1});
  return at::cat({y, x}).unsqueeze(0).to(options);
}

PositionalEncoding::PositionalEncoding(std::int64_t channels)
    : token_projection_(register_module(
          "token_projection",
          torch::nn::Conv2d(torch::nn::Conv2dOptions(2 * channels_of_axis, channels, 1)))) {}

at::Tensor PositionalEncoding::forward(const at::Tensor& maps) {
  if (!fits(maps)) {
    // What is made in evaluation serves training, too.
    const c10::InferenceMode off(false);
    encoding_ = fourier_encoding(maps.size(2), maps.size(3), token_projection_->weight.options())
                    .contiguous(at::MemoryFormat::ChannelsLast);
  }
  return token_projection_(encoding_);
}

bool PositionalEncoding::fits(const at::Tensor& maps) const {
  const at::Tensor& weight = token_projection_->weight;
  return encoding_.defined() && encoding_.size(2) == maps.size(2) &&
         encoding_.size(3) == maps.size(3) && encoding_.dtype() == weight.dtype() &&
         encoding_.device() == weight.device();
}

}  // namespace headrace::inline v1::models::detail
