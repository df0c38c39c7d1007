#include <headrace/training/memory/out_of_memory.h>
#include <headrace/training/trainer/detail/kept_buffers.h>

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
    const auto at = tensor.is_floating_point() ? static_cast<std::ptrdiff_t>(floating_++)
                                               : std::ssize(tensors_);
    tensors_.insert(tensors_.begin() + at, tensor);
    for (std::vector<at::Tensor>& copy : copies_)
      copy.insert(copy.begin() + at, at::empty_like(tensor));
  }
}

std::vector<at::Tensor>& KeptBuffers::copies_of(std::int64_t step) {
  return copies_[static_cast<std::size_t>(step) % copies_.size()];
}

void KeptBuffers::keep(std::int64_t step) {
  if (tensors_.empty()) return;
  const at::NoGradGuard no_gradient;
  at::_foreach_copy_(copies_of(step), tensors_);
}

void KeptBuffers::put_back(std::int64_t step) {
  const at::NoGradGuard no_gradient;
  const auto finite = [](const at::Tensor& tensor) {
    return at::isfinite(tensor).all().item<bool>();
  };
  const at::ArrayRef<at::Tensor> floating(tensors_.data(), floating_);
  if (floating.empty()) return;
  bool all_finite = true;
  try_twice(floating.front().device(), [&] { all_finite = std::ranges::all_of(floating, finite); });
  if (all_finite) return;
  at::_foreach_copy_(floating, at::ArrayRef<at::Tensor>(copies_of(step).data(), floating_));
}

void KeptBuffers::restore(std::int64_t step) {
  if (tensors_.empty()) return;
  const at::NoGradGuard no_gradient;
  at::_foreach_copy_(tensors_, copies_of(step));
}

}  // namespace headrace::inline v1::training::detail
