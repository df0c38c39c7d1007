#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/internal/aligned_memory.h>
#include <headrace/engine/tensor/internal/byte_count.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstring>
#include <string>
#include <utility>

namespace headrace::inline v1 {

namespace {

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + " " + to_string(tensor.shape());
}

}  // namespace

Tensor Tensor::empty(DType dtype, const Shape& shape) {
  const std::size_t bytes = detail::byte_count(dtype, shape);
  std::shared_ptr<std::byte> memory(detail::allocate_aligned(bytes).release(),
                                    detail::FreeAligned{});
  void* data = memory.get();
  return borrow(data, dtype, shape, std::move(memory));
}

Tensor Tensor::zeros(DType dtype, const Shape& shape) {
  Tensor tensor = empty(dtype, shape);
  std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::borrow(void* data, DType dtype, const Shape& shape, std::shared_ptr<const void> keep,
                      Device device) {
  Tensor tensor;
  tensor.elements_ = shape.elements();
  tensor.data_ = data;
  tensor.keep_ = std::move(keep);
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.device_ = device;
  return tensor;
}

Tensor Tensor::row(std::int64_t i) const {
  Tensor one = rows(i, i + 1);
  one.shape_ = shape_.row();
  return one;
}

Tensor Tensor::rows(std::int64_t first, std::int64_t last) const {
  if (shape_.rank() == 0) throw ConfigError("[tensor] a scalar has no rows");
  if (first < 0 || first > last || last > shape_[0]) {
    throw ConfigError("[tensor] rows [" + std::to_string(first) + ", " + std::to_string(last) +
                      ") of " + describe(*this));
  }
  Tensor part = *this;
  part.shape_.set(0, last - first);
  part.elements_ = part.shape_.elements();
  const std::size_t stride = shape_[0] == 0 ? 0 : bytes() / static_cast<std::size_t>(shape_[0]);
  if (data_ != nullptr) {
    part.data_ = static_cast<std::byte*>(data_) + static_cast<std::size_t>(first) * stride;
  }
  return part;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.elements() != elements_) {
    throw ConfigError("[tensor] " + describe(*this) + " cannot take the shape " + to_string(shape) +
                      ": it needs " + std::to_string(shape.elements()) + " elements, there are " +
                      std::to_string(elements_));
  }
  Tensor result = *this;
  result.shape_ = shape;
  return result;
}

Tensor Tensor::clone() const {
  if (device_.is_cuda()) {
    throw ConfigError("[tensor] clone() copies host memory, this tensor is on " +
                      to_string(device_));
  }
  if (data_ == nullptr) return *this;
  Tensor copy = empty(dtype_, shape_);
  if (elements_ > 0) std::memcpy(copy.raw(), data_, bytes());
  return copy;
}

void Tensor::require(DType dtype) const {
  if (dtype == dtype_) return;
  throw ConfigError("[tensor] " + describe(*this) + " was asked for as " +
                    std::string(name_of(dtype)));
}

void Tensor::require_one() const {
  if (elements_ == 1) return;
  throw ConfigError("[tensor] item() needs exactly one element, got " + describe(*this) + " with " +
                    std::to_string(elements_));
}

Tensor detail::copy_of(const void* data, DType dtype, std::size_t count, const Shape& shape) {
  if (static_cast<std::size_t>(shape.elements()) != count) {
    throw ConfigError("[tensor] " + std::to_string(count) + " values cannot fill the shape " +
                      to_string(shape));
  }
  Tensor tensor = Tensor::empty(dtype, shape);
  if (count > 0) std::memcpy(tensor.raw(), data, tensor.bytes());
  return tensor;
}

}  // namespace headrace::inline v1
