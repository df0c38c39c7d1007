#include <headrace/models/networks/detail/instance_norm.h>

#include <cstddef>
#include <tuple>

#include <ATen/ops/_batch_norm_impl_index.h>
#include <ATen/ops/_batch_norm_impl_index_backward.h>
#include <ATen/ops/_unsafe_view.h>
#include <ATen/ops/addcmul.h>

namespace headrace::inline v1::models::detail {

namespace {

constexpr double instance_norm_epsilon = 1e-5;
constexpr std::size_t tensor_count = 6;

// [1, N * C, ...]: instance norm is the batch norm of these.
at::Tensor one_behind_the_other(const at::Tensor& maps) {
  std::vector<std::int64_t> sizes = maps.sizes().vec();
  sizes[1] *= sizes[0];
  sizes[0] = 1;
  return maps.contiguous().view(sizes);
}

// A value for each map, [N * C], beside maps [N, C, ...].
at::Tensor beside(const at::Tensor& maps, const at::Tensor& values) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(maps.dim()), 1);
  sizes[0] = maps.size(0);
  sizes[1] = maps.size(1);
  return values.view(sizes);
}

}  // namespace

at::Tensor InstanceNormRun::run() {
  at::Tensor maps;
  std::tie(maps, mean, inverse_deviation, reserve, backend) = at::_batch_norm_impl_index(
      one_behind_the_other(input), weight, bias, /*running_mean=*/{}, /*running_var=*/{},
      /*training=*/true, /*momentum=*/0.0, instance_norm_epsilon, /*cudnn_enabled=*/true);
  return at::_unsafe_view(maps, input.sizes());
}

at::Tensor InstanceNormRun::again() const {
  const at::Tensor scale = weight * inverse_deviation;
  const at::Tensor shift = at::addcmul(bias, mean, scale, /*value=*/-1.0);
  return at::addcmul(beside(input, shift), input, beside(input, scale));
}

InstanceNormRun::Tensors InstanceNormRun::gradients(const at::Tensor& of_result,
                                                    const std::array<bool, 3>& wanted) const {
  if (wanted == std::array<bool, 3>{}) return Tensors(3);
  auto [of_maps, of_weight, of_bias] = at::_batch_norm_impl_index_backward(
      backend, one_behind_the_other(input), one_behind_the_other(of_result.to(input.scalar_type())),
      weight, /*running_mean=*/{},
      /*running_var=*/{}, mean, inverse_deviation, /*train=*/true, instance_norm_epsilon, wanted,
      reserve);
  if (of_maps.defined()) of_maps = of_maps.view(input.sizes());
  return {of_maps, of_weight, of_bias};
}

void InstanceNormRun::keep(torch::autograd::AutogradContext& context, const Tensors& others) const {
  Tensors all{input, weight, bias, mean, inverse_deviation, reserve};
  all.insert(all.end(), others.begin(), others.end());
  context.save_for_backward(all);
  context.saved_data["backend"] = backend;
}

InstanceNormRun::Kept InstanceNormRun::kept(torch::autograd::AutogradContext& context) {
  const Tensors all = context.get_saved_variables();
  return {.norm = {.input = all[0],
                   .weight = all[1],
                   .bias = all[2],
                   .mean = all[3],
                   .inverse_deviation = all[4],
                   .reserve = all[5],
                   .backend = context.saved_data.at("backend").toInt()},
          .others = {all.begin() + tensor_count, all.end()}};
}

}  // namespace headrace::inline v1::models::detail
