#include <headrace/engine/torch/device_event.h>
#include <headrace/training/trainer/async_scalars.h>

#include <memory>
#include <utility>

#include <ATen/core/TensorBody.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <c10/core/Event.h>

namespace headrace::inline v1::training {

void AsyncScalars::push(const std::vector<at::Tensor>& values) {
  std::vector<at::Tensor> doubles;
  doubles.reserve(values.size());
  for (const at::Tensor& value : values)
    doubles.push_back(value.detach().to(at::kDouble));
  const at::Tensor together = at::stack(doubles);
  if (!together.is_cuda()) return push(together.to(at::kCPU), [](bool) { return true; });
  at::Tensor host = at::empty(together.sizes(), at::dtype(at::kDouble).pinned_memory(true));
  host.copy_(together, /*non_blocking=*/true);
  const auto copied = std::make_shared<c10::Event>(event_behind(together.device()));
  push(std::move(host), [copied](bool wait) {
    if (wait) copied->synchronize();
    return copied->query();
  });
}

void AsyncScalars::push(at::Tensor host, Arrived arrived) {
  reads_.push_back({std::move(host), std::move(arrived)});
}

std::optional<std::vector<double>> AsyncScalars::pop(bool wait) {
  if (reads_.empty() || !reads_.front().arrived(wait)) return std::nullopt;
  const at::Tensor host = std::move(reads_.front().host);
  reads_.pop_front();
  const double* values = host.const_data_ptr<double>();
  return std::vector<double>(values, values + host.numel());
}

}  // namespace headrace::inline v1::training
