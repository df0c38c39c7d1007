#include <headrace/models/networks/detail/conv_norm.h>

namespace headrace::inline v1::models::detail {

namespace nn = torch::nn;

nn::Conv2d same_convolution(const ConvNormOptions& options) {
  return nn::Conv2d(nn::Conv2dOptions(options.in, options.out, options.kernel)
                        .padding(options.dilation * (options.kernel / 2))
                        .dilation(options.dilation)
                        .groups(options.groups));
}

nn::GroupNorm group_norm(std::int64_t channels, std::int64_t most) {
  std::int64_t groups = most;
  while (groups > 1 && (channels % groups != 0 || channels / groups < 2))
    --groups;
  return nn::GroupNorm(nn::GroupNormOptions(groups, channels));
}

ConvNorm::ConvNorm(const ConvNormOptions& options)
    : conv(register_module("conv", same_convolution(options))),
      norm(register_module("norm", group_norm(options.out, options.norm_groups))) {}

at::Tensor ConvNorm::forward(const at::Tensor& maps) {
  return norm(conv(maps));
}

}  // namespace headrace::inline v1::models::detail
