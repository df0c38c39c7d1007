#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/detail/dlpack_abi.h>
#include <headrace/engine/tensor/dlpack.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace headrace::inline v1 {

namespace {

enum DeviceType : std::int32_t { on_cpu = 1, on_cuda = 2, on_pinned_host = 3 };

struct TypeEntry {
  DType dtype;
  detail::DlType type;
};

constexpr std::array<TypeEntry, 13> types{{{DType::uint8, {1, 8, 1}},
                                           {DType::int8, {0, 8, 1}},
                                           {DType::uint16, {1, 16, 1}},
                                           {DType::int16, {0, 16, 1}},
                                           {DType::uint32, {1, 32, 1}},
                                           {DType::int32, {0, 32, 1}},
                                           {DType::uint64, {1, 64, 1}},
                                           {DType::int64, {0, 64, 1}},
                                           {DType::float16, {2, 16, 1}},
                                           {DType::bfloat16, {4, 16, 1}},
                                           {DType::float32, {2, 32, 1}},
                                           {DType::float64, {2, 64, 1}},
                                           {DType::boolean, {6, 8, 1}}}};

DType dtype_from(detail::DlType type) {
  for (const TypeEntry& entry : types) {
    if (entry.type.code == type.code && entry.type.bits == type.bits && type.lanes == 1) {
      return entry.dtype;
    }
  }
  throw ConfigError("[dlpack] no dtype for code " + std::to_string(type.code) + ", " +
                    std::to_string(type.bits) + " bits, " + std::to_string(type.lanes) +
                    " lanes; convert the tensor first");
}

Device device_from(detail::DlDevice device) {
  if (device.type == on_cpu || device.type == on_pinned_host) return Device::cpu();
  if (device.type == on_cuda) return Device::cuda(device.index);
  throw ConfigError("[dlpack] memory of the CPU or of a CUDA device is taken, got device type " +
                    std::to_string(device.type));
}

Shape shape_from(const detail::DlTensor& tensor) {
  if (tensor.rank < 0) {
    throw ConfigError("[dlpack] a rank is at least 0, got " + std::to_string(tensor.rank));
  }
  return Shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.rank)));
}

void require_packed(const detail::DlTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr || shape.elements() == 0) return;
  std::int64_t packed = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && tensor.strides[axis] != packed) {
      throw ConfigError("[dlpack] a packed row-major tensor is taken, axis " +
                        std::to_string(axis) + " of " + to_string(shape) + " has stride " +
                        std::to_string(tensor.strides[axis]) + " instead of " +
                        std::to_string(packed) + "; make it contiguous first");
    }
    packed *= shape[axis];
  }
}

/// What an exported structure lives in.
struct Exported {
  Tensor tensor;
  std::array<std::int64_t, Shape::max_rank> shape{};
  std::array<std::int64_t, Shape::max_rank> strides{};
  DLManagedTensor managed{};
};

/// Calls the deleter of an imported structure when the last handle goes.
struct Imported {
  DLManagedTensor* managed = nullptr;

  Imported() = default;
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;
  ~Imported() {
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }
};

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  auto owner = std::make_unique<Exported>();
  owner->tensor = tensor;
  std::int64_t stride = 1;
  for (int axis = tensor.shape().rank() - 1; axis >= 0; --axis) {
    owner->shape[static_cast<std::size_t>(axis)] = tensor.shape()[axis];
    owner->strides[static_cast<std::size_t>(axis)] = stride;
    stride *= tensor.shape()[axis];
  }
  const Device device = tensor.device();
  owner->managed.tensor = {.data = tensor.raw(),
                           .device = {device.is_cuda() ? on_cuda : on_cpu, device.index},
                           .rank = tensor.shape().rank(),
                           .type = types[static_cast<std::size_t>(tensor.dtype())].type,
                           .shape = owner->shape.data(),
                           .strides = owner->strides.data(),
                           .byte_offset = 0};
  owner->managed.context = owner.get();
  owner->managed.deleter = [](DLManagedTensor* self) {
    delete static_cast<Exported*>(self->context);
  };
  return &owner.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) throw ConfigError("[dlpack] a managed tensor is needed, got null");
  const detail::DlTensor& tensor = managed->tensor;
  const Shape shape = shape_from(tensor);
  const DType dtype = dtype_from(tensor.type);
  const Device device = device_from(tensor.device);
  require_packed(tensor, shape);
  auto* data = static_cast<std::byte*>(tensor.data);
  if (data != nullptr) data += tensor.byte_offset;

  // The tensor changes hands last: whatever fails before leaves it with the caller.
  auto owner = std::make_shared<Imported>();
  Imported& hands = *owner;
  Tensor imported = Tensor::borrow(data, dtype, shape, std::move(owner), device);
  hands.managed = managed;
  return imported;
}

}  // namespace headrace::inline v1
