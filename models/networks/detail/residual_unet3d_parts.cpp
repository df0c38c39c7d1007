#include <headrace/models/networks/detail/norm_mish.h>
#include <headrace/models/networks/detail/residual_unet3d_parts.h>

#include <vector>

#include <ATen/OpMathType.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

namespace headrace::inline v1::models::detail {

namespace {

using torch::autograd::AutogradContext;
using Tensors = std::vector<at::Tensor>;

struct Halved : torch::autograd::Function<Halved> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& maps) {
    auto [largest, places] = at::max_pool3d_with_indices(maps, {2, 2, 2}, {2, 2, 2});
    context->save_for_backward({places});
    context->saved_data["sizes"] = maps.sizes().vec();
    return largest;
  }

  // No place is that of two maxima.
  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const at::Tensor places = context->get_saved_variables().front();
    const std::vector<std::int64_t> sizes = context->saved_data.at("sizes").toIntVector();
    at::Tensor found = at::zeros(sizes, gradients.front().options());
    found.flatten(2).scatter_(2, places.flatten(2), gradients.front().flatten(2));
    return {found};
  }
};

}  // namespace

at::Tensor halved_volumes(const at::Tensor& maps) {
  return Halved::apply(maps);
}

namespace {

namespace nn = torch::nn;

nn::Conv3d same_convolution_3d(std::int64_t in, std::int64_t out) {
  return nn::Conv3d(nn::Conv3dOptions(in, out, 3).padding(1).bias(false));
}

NormAffine affine_of(const NormWeights& norm) {
  return {.weight = norm.weight, .bias = norm.bias};
}

// The norm whose maps are dropped, each by that share, the others made larger.
NormAffine dropped(const NormWeights& norm, const at::Tensor& maps, double share) {
  const at::Tensor factors = at::empty({maps.size(0), maps.size(1)},
                                       maps.options().dtype(at::toOpMathType(maps.scalar_type())));
  factors.bernoulli_(1.0 - share).div_(1.0 - share);
  return {.weight = norm.weight * factors, .bias = norm.bias * factors};
}

}  // namespace

NormWeights::NormWeights(std::int64_t channels)
    : weight(register_parameter("weight", at::ones({channels}))),
      bias(register_parameter("bias", at::zeros({channels}))) {}

ResidualBlock3d::ResidualBlock3d(const ResidualBlock3dOptions& options)
    : dropout(options.dropout),
      conv1(register_module("conv1", same_convolution_3d(options.in, options.out))),
      norm1(register_module("norm1", std::make_shared<NormWeights>(options.out))),
      conv2(register_module("conv2", same_convolution_3d(options.out, options.out))),
      norm2(register_module("norm2", std::make_shared<NormWeights>(options.out))) {
  if (options.in != options.out)
    proj = register_module("proj", nn::Conv3d(nn::Conv3dOptions(options.in, options.out, 1)));
}

at::Tensor ResidualBlock3d::forward(const at::Tensor& x) {
  const at::Tensor maps = norm_mish_convolved(conv1->forward(x), affine_of(*norm1), conv2->weight);
  const bool drops = is_training() && dropout > 0.0;
  const NormAffine affine = drops ? dropped(*norm2, maps, dropout) : affine_of(*norm2);
  if (proj.is_empty()) return norm_mish(maps, affine, x);
  return norm_mish(maps, affine, Projection{.maps = x, .weight = proj->weight, .bias = proj->bias});
}

}  // namespace headrace::inline v1::models::detail
