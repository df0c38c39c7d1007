#include <headrace/training/detail/kept_buffers.h>

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>

namespace headrace::inline v1::training::detail {

KeptBuffers::KeptBuffers(const models::Network& network, std::size_t steps) : copies_(steps) {
  TensorMap buffers;
  for (const models::NamedTensor& buffer : network.buffers())
    buffers.emplace(buffer.name, buffer.tensor);
  add(buffers);
}

void KeptBuffers::add(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point()) continue;
    tensors_.push_back(tensor);
    for (std::vector<at::Tensor>& copy : copies_)
      copy.push_back(at::empty_like(tensor));
  }
}

void KeptBuffers::keep(std::int64_t step) {
  if (tensors_.empty()) return;
  const at::NoGradGuard no_gradient;
  at::_foreach_copy_(copies_[static_cast<std::size_t>(step) % copies_.size()], tensors_);
}

void KeptBuffers::put_back(std::int64_t step) {
  const at::NoGradGuard no_gradient;
  const auto finite = [](const at::Tensor& tensor) {
    return at::isfinite(tensor).all().item<bool>();
  };
  if (std::ranges::all_of(tensors_, finite)) return;
  at::_foreach_copy_(tensors_, copies_[static_cast<std::size_t>(step) % copies_.size()]);
}

}  // namespace headrace::inline v1::training::detail
