#include <headrace/engine/base/error.h>
#include <headrace/engine/torch/as_tensor.h>

#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace headrace::inline v1 {

namespace {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return at::kByte;
    case DType::int8:
      return at::kChar;
    case DType::uint16:
      return at::kUInt16;
    case DType::int16:
      return at::kShort;
    case DType::uint32:
      return at::kUInt32;
    case DType::int32:
      return at::kInt;
    case DType::uint64:
      return at::kUInt64;
    case DType::int64:
      return at::kLong;
    case DType::float16:
      return at::kHalf;
    case DType::bfloat16:
      return at::kBFloat16;
    case DType::float32:
      return at::kFloat;
    case DType::float64:
      return at::kDouble;
    case DType::boolean:
      return at::kBool;
  }
  throw ConfigError("[as_tensor] LibTorch has no scalar type for dtype " +
                    std::to_string(static_cast<int>(dtype)));
}

at::Device torch_device(Device device) {
  return device.is_cuda() ? at::Device(at::kCUDA, static_cast<at::DeviceIndex>(device.index))
                          : at::Device(at::kCPU);
}

}  // namespace

at::Tensor as_tensor(const Tensor& tensor) {
  const at::Device device = torch_device(tensor.device());
  const auto options = at::TensorOptions(scalar_type(tensor.dtype())).device(device);
  const auto extents = tensor.shape().extents();
  const at::IntArrayRef sizes(extents.data(), extents.size());
  if (tensor.raw() == nullptr) {
    if (tensor.elements() != 0 || tensor.shape().elements() != 0) {
      throw ConfigError("[as_tensor] a tensor with memory is needed, got an empty handle");
    }
    return at::empty(sizes, options);
  }
  return at::for_blob(tensor.raw(), sizes)
      .deleter([keep = tensor.keep()](void*) {})
      .options(options)
      .target_device(device)
      .make_tensor();
}

}  // namespace headrace::inline v1
