#include <headrace/models/networks/detail/instance_norm.h>
#include <headrace/models/networks/detail/norm_mish.h>
#include <headrace/models/networks/detail/refuse.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/OpMathType.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

namespace headrace::inline v1::models::detail {

namespace {

using torch::autograd::AutogradContext;
using Tensors = std::vector<at::Tensor>;
using MaybeTensor = std::optional<at::Tensor>;

// Types are chosen here.
struct NoAutocast {
  c10::impl::ExcludeDispatchKeyGuard guard{c10::autocast_dispatch_keyset};
};

void refuse_second_gradients() {
  if (at::GradMode::is_enabled())
    refuse("norm_mish", "has no gradients of gradients (create_graph)");
}

std::array<bool, 3> wanted_by_norm(const AutogradContext& context) {
  return {context.needs_input_grad(0), context.needs_input_grad(1), context.needs_input_grad(2)};
}

// Of a convolution of stride 1 that leaves the sides.
struct SameAxes {
  explicit SameAxes(const at::Tensor& kernel) {
    for (const std::int64_t side : kernel.sizes().slice(2))
      padding.push_back((side - 1) / 2);
    ones.assign(padding.size(), 1);
    zeros.assign(padding.size(), 0);
  }

  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> ones;
  std::vector<std::int64_t> zeros;
};

at::Tensor convolve(const at::Tensor& maps, const at::Tensor& kernel, const MaybeTensor& bias) {
  const SameAxes axes(kernel);
  return at::convolution(maps, kernel, bias, axes.ones, axes.padding, axes.ones,
                         /*transposed=*/false, axes.zeros, /*groups=*/1);
}

// Of maps, kernel and bias, as far as they are wanted.
Tensors gradients_of_convolution(const at::Tensor& of_result, const at::Tensor& maps,
                                 const at::Tensor& kernel, const std::array<bool, 3>& wanted) {
  if (wanted == std::array<bool, 3>{}) return Tensors(3);
  const SameAxes axes(kernel);
  const std::vector<std::int64_t> bias_sizes{kernel.size(0)};
  auto [of_maps, of_kernel, of_bias] = at::convolution_backward(
      of_result, maps, kernel,
      wanted[2] ? at::OptionalIntArrayRef(bias_sizes) : at::OptionalIntArrayRef(), axes.ones,
      axes.padding, axes.ones, /*transposed=*/false, axes.zeros, /*groups=*/1, wanted);
  return {of_maps, of_kernel, of_bias};
}

// Behind the norm's own there are the residual and, where it is projected, kernel and bias.
struct NormMish : torch::autograd::Function<NormMish> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const MaybeTensor& residual, const MaybeTensor& kernel,
                            const MaybeTensor& kernel_bias) {
    const NoAutocast plain;
    InstanceNormRun norm{.input = input, .weight = weight, .bias = bias};
    at::Tensor result = norm.run();
    if (kernel)
      result.add_(convolve(residual->to(input.scalar_type()), *kernel, kernel_bias));
    else if (residual)
      result.add_(*residual);
    norm.keep(*context, {residual.value_or(at::Tensor()), kernel.value_or(at::Tensor()),
                         kernel_bias.value_or(at::Tensor())});
    return at::mish_(result);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    refuse_second_gradients();
    const NoAutocast plain;
    const auto [norm, others] = InstanceNormRun::kept(*context);
    const at::Tensor of_sum = gradient_of_sum(norm, others, gradients.front());
    Tensors found = norm.gradients(of_sum, wanted_by_norm(*context));
    const Tensors more = gradients_of_residual(*context, others, of_sum);
    found.insert(found.end(), more.begin(), more.end());
    return found;
  }

  // In the type of the statistics.
  static at::Tensor gradient_of_sum(const InstanceNormRun& norm, const Tensors& others,
                                    const at::Tensor& gradient) {
    at::Tensor sum = norm.again();
    if (others[1].defined())
      sum.add_(convolve(others[0].to(norm.input.scalar_type()), others[1], others[2]));
    else if (others[0].defined())
      sum.add_(others[0]);
    return at::mish_backward(gradient, sum);
  }

  // Of the residual, kernel and bias.
  static Tensors gradients_of_residual(const AutogradContext& context, const Tensors& others,
                                       const at::Tensor& of_sum) {
    const at::Tensor& residual = others[0];
    if (!residual.defined()) return Tensors(3);
    if (!others[1].defined()) return {of_sum.to(residual.scalar_type()), {}, {}};
    const at::ScalarType type = others[1].scalar_type();
    Tensors found = gradients_of_convolution(
        of_sum.to(type), residual.to(type), others[1],
        {context.needs_input_grad(3), context.needs_input_grad(4), context.needs_input_grad(5)});
    if (found[0].defined()) found[0] = found[0].to(residual.scalar_type());
    return found;
  }
};

struct NormMishConvolved : torch::autograd::Function<NormMishConvolved> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& kernel) {
    const NoAutocast plain;
    InstanceNormRun norm{.input = input, .weight = weight, .bias = bias};
    at::Tensor maps = norm.run();
    norm.keep(*context, {kernel});
    return convolve(at::mish_(maps), kernel, {});
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    refuse_second_gradients();
    const NoAutocast plain;
    const auto [norm, others] = InstanceNormRun::kept(*context);
    const std::array<bool, 3> wanted = wanted_by_norm(*context);
    const at::Tensor normed = norm.again();
    const Tensors of_convolution = gradients_of_convolution(
        gradients.front(), at::mish(normed).to(norm.input.scalar_type()), others[0],
        {wanted != std::array<bool, 3>{}, context->needs_input_grad(3), false});
    Tensors found(3);
    if (of_convolution[0].defined())
      found = norm.gradients(at::mish_backward(of_convolution[0], normed), wanted);
    found.push_back(of_convolution[1]);
    return found;
  }
};

// One for each map, [N * C], in the type of the statistics.
at::Tensor for_each_map(const at::Tensor& values, const at::Tensor& maps) {
  return values.expand({maps.size(0), maps.size(1)})
      .reshape(-1)
      .to(at::toOpMathType(maps.scalar_type()));
}

}  // namespace

at::Tensor norm_mish(const at::Tensor& input, const NormAffine& affine,
                     const at::Tensor& residual) {
  // LibTorch takes undefined tensors in this form alone.
  const MaybeTensor maybe = residual.defined() ? MaybeTensor(residual) : std::nullopt;
  return NormMish::apply(input, for_each_map(affine.weight, input),
                         for_each_map(affine.bias, input), maybe, MaybeTensor(), MaybeTensor());
}

at::Tensor norm_mish(const at::Tensor& input, const NormAffine& affine,
                     const Projection& residual) {
  const at::ScalarType type = input.scalar_type();
  return NormMish::apply(input, for_each_map(affine.weight, input),
                         for_each_map(affine.bias, input), MaybeTensor(residual.maps),
                         MaybeTensor(residual.weight.to(type)),
                         MaybeTensor(residual.bias.to(type)));
}

at::Tensor norm_mish_convolved(at::Tensor input, const NormAffine& affine,
                               const at::Tensor& kernel) {
  const at::Tensor same = kernel.to(input.scalar_type());
  if (at::GradMode::is_enabled())
    return NormMishConvolved::apply(input, for_each_map(affine.weight, input),
                                    for_each_map(affine.bias, input), same);
  const at::Tensor maps = norm_mish(input, affine);
  input.reset();
  const NoAutocast plain;
  return convolve(maps, same, {});
}

}  // namespace headrace::inline v1::models::detail
