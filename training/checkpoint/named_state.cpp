#include <headrace/training/checkpoint/named_state.h>
#include <headrace/training/errors.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <sstream>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>

namespace headrace::inline v1::training {

namespace {

TensorMap by_name(const models::Network& network) {
  TensorMap tensors;
  for (const models::NamedTensor& item : models::state_of(network))
    tensors.emplace(item.name, item.tensor);
  return tensors;
}

// In the same order of dimensions, too: then the copy is one of plain bytes.
bool fits(const at::Tensor& copy, const at::Tensor& tensor) {
  return copy.defined() && copy.sizes() == tensor.sizes() && copy.strides() == tensor.strides() &&
         copy.scalar_type() == tensor.scalar_type();
}

// An infinity or a NaN has all bits of the mask.
template <class Word>
bool none_has(const at::Tensor& tensor, Word mask) {
  constexpr std::size_t at_once = 4096;
  std::span<const Word> words(static_cast<const Word*>(tensor.const_data_ptr()),
                              static_cast<std::size_t>(tensor.numel()));
  while (!words.empty()) {
    const auto piece = words.first(std::min(at_once, words.size()));
    unsigned found = 0;
    for (const Word word : piece)
      found |= static_cast<unsigned>((word & mask) == mask);
    if (found != 0) return false;
    words = words.subspan(piece.size());
  }
  return true;
}

// Of a tensor in CPU memory, in row-major order. By its bits, in the calling thread alone: LibTorch
// would give each thread that asks a team of its own.
bool all_finite(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return none_has<std::uint64_t>(tensor, 0x7ff0000000000000);
    case at::kFloat:
      return none_has<std::uint32_t>(tensor, 0x7f800000);
    case at::kHalf:
      return none_has<std::uint16_t>(tensor, 0x7c00);
    case at::kBFloat16:
      return none_has<std::uint16_t>(tensor, 0x7f80);
    default:
      return at::isfinite(tensor).all().item<bool>();
  }
}

}  // namespace

TensorMap snapshot(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor values = tensor.detach();
    copies.emplace(name, values.is_cpu() ? values.clone() : values.to(at::kCPU));
  }
  return copies;
}

TensorMap snapshot(const models::Network& network) {
  return snapshot(by_name(network));
}

void update_snapshot(TensorMap& copies, const TensorMap& tensors) {
  const at::NoGradGuard no_gradient;
  std::erase_if(copies, [&](const auto& copy) { return !tensors.contains(copy.first); });
  for (const auto& [name, tensor] : tensors) {
    at::Tensor& copy = copies[name];
    if (!fits(copy, tensor))
      copy = at::empty_like(tensor, at::device(at::kCPU).pinned_memory(tensor.is_cuda()));
    copy.copy_(tensor, /*non_blocking=*/tensor.is_cuda());
  }
}

void update_snapshot(TensorMap& copies, const models::Network& network) {
  update_snapshot(copies, by_name(network));
}

std::optional<std::string> first_not_finite(const TensorMap& tensors) {
  for (const auto& [name, tensor] : tensors)
    if (tensor.is_floating_point() && !all_finite(tensor.detach().to(at::kCPU).contiguous()))
      return name;
  return std::nullopt;
}

void copy_by_name(const TensorMap& from, const TensorMap& into, const std::string& who) {
  for (const auto& [name, tensor] : into) {
    const auto found = from.find(name);
    if (found == from.end())
      throw CheckpointError(who + " \"" + name + "\" is missing from the file");
    if (found->second.sizes() != tensor.sizes()) {
      std::ostringstream message;
      message << who << " \"" << name << "\" must have the shape " << tensor.sizes()
              << ", the file has " << found->second.sizes();
      throw CheckpointError(message.str());
    }
  }
  for (const auto& [name, tensor] : from)
    if (!into.contains(name))
      throw CheckpointError(who + " the file holds the unexpected \"" + name + "\"");

  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : into)
    tensor.copy_(from.at(name));
}

void load_weights(models::Network& network, const TensorMap& weights) {
  copy_by_name(weights, by_name(network), "[weights]");
}

}  // namespace headrace::inline v1::training
