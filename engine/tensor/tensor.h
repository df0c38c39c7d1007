#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/device.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace headrace::inline v1 {

/// A packed row-major block of elements: dtype, shape and memory, either owned (freed with the last
/// copy of the handle) or borrowed (kept alive by whatever `keep` holds, or by the caller). Copying
/// a Tensor copies the handle, never the elements. Not synchronised: two threads may read one
/// tensor, writing needs an owner.
class HEADRACE_API Tensor {
 public:
  Tensor() = default;

  /// Owned host memory, 64-byte aligned, contents undefined. Throws ResourceError when memory
  /// cannot be had.
  static Tensor empty(DType dtype, const Shape& shape);
  /// As empty(), every byte zero.
  static Tensor zeros(DType dtype, const Shape& shape);
  /// A view of memory that somebody else owns; `keep` is released with the last copy of the handle.
  static Tensor borrow(void* data, DType dtype, const Shape& shape,
                       std::shared_ptr<const void> keep = {}, Device device = {});
  /// An owned copy of the values, of the given shape. Throws ConfigError when the counts differ.
  template <class T>
  static Tensor of(std::span<const T> values, const Shape& shape);
  /// An owned scalar.
  template <class T>
  static Tensor scalar(T value);

  /// False for a handle that was never given a tensor.
  bool defined() const noexcept { return data_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  Device device() const noexcept { return device_; }
  std::int64_t elements() const noexcept { return elements_; }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements_) * size_of(dtype_);
  }
  void* raw() const noexcept { return data_; }
  /// What keeps the memory alive; empty where nobody must.
  const std::shared_ptr<const void>& keep() const noexcept { return keep_; }

  /// The elements, typed. Throws ConfigError when T is not the dtype.
  template <class T>
  T* data() const {
    require(dtype_of<T>);
    return static_cast<T*>(data_);
  }
  /// All elements in row-major order. Throws ConfigError when T is not the dtype.
  template <class T>
  std::span<T> values() const {
    return {data<T>(), static_cast<std::size_t>(elements_)};
  }
  /// All bytes in row-major order, of any type.
  std::span<const std::byte> as_bytes() const noexcept {
    return {static_cast<const std::byte*>(data_), bytes()};
  }
  /// The only element. Throws ConfigError when there are more or T is not the dtype.
  template <class T>
  T item() const {
    require_one();
    return *data<T>();
  }

  /// Row `i` along the first axis: a view with the same keeper.
  Tensor row(std::int64_t i) const;
  /// Rows [first, last) along the first axis: a view with the same keeper.
  Tensor rows(std::int64_t first, std::int64_t last) const;
  /// The same memory under another shape of equal count.
  Tensor reshaped(const Shape& shape) const;
  /// An owned copy (host memory only).
  Tensor clone() const;

 private:
  void require(DType dtype) const;
  void require_one() const;

  void* data_ = nullptr;
  std::shared_ptr<const void> keep_;
  Shape shape_;
  std::int64_t elements_ = 0;
  DType dtype_ = DType::uint8;
  Device device_;
};

namespace detail {
HEADRACE_API Tensor copy_of(const void* data, DType dtype, std::size_t count, const Shape& shape);
}

template <class T>
Tensor Tensor::of(std::span<const T> values, const Shape& shape) {
  return detail::copy_of(values.data(), dtype_of<T>, values.size(), shape);
}

template <class T>
Tensor Tensor::scalar(T value) {
  return detail::copy_of(&value, dtype_of<T>, 1, Shape{});
}

}  // namespace headrace::inline v1
