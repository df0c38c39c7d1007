#include <headrace/models/networks/detail/halved_volumes.h>

#include <vector>

#include <ATen/ops/max_pool3d_with_indices.h>
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

}  // namespace headrace::inline v1::models::detail
