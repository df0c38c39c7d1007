#include <headrace/tests/apps/meta_device.h>

#include <sstream>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

namespace headrace::test {

namespace {

using Stack = torch::jit::Stack;

// An operation of `meta` done on the host over zeros: what it gives has the right shape.
class OnHost {
 public:
  at::Tensor stand_in(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!tensor.is_meta()) {
      if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) return tensor;
      throw std::runtime_error("an operation was given tensors of the host and of the device");
    }
    at::Tensor host =
        at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU))
            .zero_();
    stands_for_.emplace(host.unsafeGetTensorImpl(), tensor);
    return host;
  }

  at::Tensor result(const at::Tensor& host) {
    if (!host.defined()) return host;
    const auto known = stands_for_.find(host.unsafeGetTensorImpl());
    if (known != stands_for_.end()) {  // written in place, or an output that got its size
      if (known->second.sizes() != host.sizes()) known->second.resize_(host.sizes());
      return known->second;
    }
    return at::empty_strided(host.sizes(), host.strides(), host.options().device(at::kMeta));
  }

 private:
  std::unordered_map<c10::TensorImpl*, at::Tensor> stands_for_;
};

void shape_on_host(const c10::OperatorHandle& op, Stack* stack) {
  OnHost host;
  const std::size_t arguments = op.schema().arguments().size();
  for (std::size_t i = stack->size() - arguments; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = host.stand_in(value.toTensor());
    } else if (value.isTensorList()) {
      std::vector<at::Tensor> tensors = value.toTensorVector();
      for (at::Tensor& tensor : tensors)
        tensor = host.stand_in(tensor);
      value = tensors;
    }
  }
  op.callBoxed(stack);
  const std::size_t results = op.schema().returns().size();
  for (std::size_t i = stack->size() - results; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) value = host.result(value.toTensor());
  }
}

template <at::ScalarType type>
void in_type(const c10::OperatorHandle& op, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::AutocastPrivateUse1);
  const std::size_t arguments = op.schema().arguments().size();
  for (std::size_t i = stack->size() - arguments; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    const at::Tensor tensor = value.toTensor();
    if (tensor.is_floating_point()) value = tensor.to(type);
  }
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(aten, Meta, meta) {
  for (const char* operation :
       {"_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "_fused_adam_", "_fused_adamw_",
        "abs.out", "convolution", "convolution_backward", "index_select", "log_sigmoid_backward",
        "log_sigmoid_forward", "logical_and.out", "logical_not.out", "max_pool3d_with_indices",
        "native_batch_norm", "native_batch_norm_backward", "native_group_norm",
        "native_group_norm_backward", "native_layer_norm_backward", "where.self"})
    meta.impl(operation, torch::CppFunction::makeFromBoxedFunction<&shape_on_host>());
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, lower) {
  lower.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, lower) {
  for (const char* operation : {"addmm", "conv2d", "conv3d", "conv_transpose3d.input"})
    lower.impl(operation, torch::CppFunction::makeFromBoxedFunction<&in_type<at::kBFloat16>>());
  for (const char* operation : {"group_norm", "layer_norm"})
    lower.impl(operation, torch::CppFunction::makeFromBoxedFunction<&in_type<at::kFloat>>());
}

// Lets in_type see tensors of `meta`.
class Lowering {
 public:
  Lowering() { at::autocast::set_autocast_enabled(at::kPrivateUse1, true); }
  ~Lowering() { at::autocast::set_autocast_enabled(at::kPrivateUse1, false); }
  Lowering(const Lowering&) = delete;
  Lowering& operator=(const Lowering&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_{c10::DispatchKey::AutocastPrivateUse1};
};

// Module::to refuses `meta`, since values would be lost. That is as it should be here.
struct Opened : c10::TensorImpl {
  using c10::TensorImpl::copy_tensor_metadata;
};

void make_meta(const at::Tensor& tensor) {
  const at::Tensor meta =
      at::empty_like(tensor.detach(), tensor.options().device(at::kMeta).requires_grad(false));
  Opened::copy_tensor_metadata(meta.unsafeGetTensorImpl(), tensor.unsafeGetTensorImpl(),
                               c10::VariableVersion(0), true);
}

thread_local HostCopies* watching = nullptr;

std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& call) {
  if (watching == nullptr || std::string_view(call.name()) != "aten::copy_") return nullptr;
  const auto inputs = call.inputs();
  if (inputs.size() > 1 && inputs[0].isTensor() && inputs[1].isTensor())
    watching->saw(inputs[0].toTensor(), inputs[1].toTensor());
  return nullptr;
}

}  // namespace

MetaNetwork::MetaNetwork(std::unique_ptr<models::Network> network, bool lowered)
    : network_(std::move(network)), lowered_(lowered) {
  for (const models::NamedTensor& item : models::state_of(*network_))
    make_meta(item.tensor);
}

at::Tensor MetaNetwork::forward(const at::Tensor& input) {
  if (!lowered_) return network_->forward(input);
  const Lowering lowering;
  return network_->forward(input);
}

models::Output MetaNetwork::outputs(const at::Tensor& input) {
  if (!lowered_) return network_->outputs(input);
  const Lowering lowering;
  return network_->outputs(input);
}

HostCopies::HostCopies()
    : handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(look).needsInputs(true).scopes({at::RecordScope::FUNCTION}))) {
  watching = this;
}

HostCopies::~HostCopies() {
  watching = nullptr;
  at::removeCallback(handle_);
}

void HostCopies::allow(const Batch& batch) {
  batch_.clear();
  for (const std::string& name : batch.names()) {
    const Tensor field = batch[name];
    const auto* begin = static_cast<const std::byte*>(field.raw());
    batch_.emplace_back(begin, begin + field.bytes());
  }
}

void HostCopies::saw(const at::Tensor& to, const at::Tensor& from) {
  if (to.is_cpu() || !from.is_cpu()) return;
  const auto* memory = static_cast<const std::byte*>(from.const_data_ptr());
  for (const auto& [begin, end] : batch_) {
    if (memory < begin || memory >= end) continue;
    ++allowed_;
    return;
  }
  std::ostringstream text;
  text << "copy to the device: " << from.scalar_type() << ' ' << from.sizes();
  found_.push_back(text.str());
}

}  // namespace headrace::test
