#pragma once

#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/half_floats.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// Calls use(T{}) with the C++ type of a dtype's elements.
template <class Use>
decltype(auto) visit_dtype(DType dtype, const Use& use) {
  switch (dtype) {
    case DType::uint8:
    case DType::boolean:  // a byte that is 0 or 1; from a file it may be any
      break;
    case DType::int8:
      return use(std::int8_t{});
    case DType::uint16:
      return use(std::uint16_t{});
    case DType::int16:
      return use(std::int16_t{});
    case DType::uint32:
      return use(std::uint32_t{});
    case DType::int32:
      return use(std::int32_t{});
    case DType::uint64:
      return use(std::uint64_t{});
    case DType::int64:
      return use(std::int64_t{});
    case DType::float16:
      return use(float16_t{});
    case DType::bfloat16:
      return use(bfloat16_t{});
    case DType::float32:
      return use(float{});
    case DType::float64:
      return use(double{});
  }
  return use(std::uint8_t{});
}

/// An element's value.
template <class T>
double number_of(T element) noexcept {
  if constexpr (requires { element.bits; })
    return static_cast<double>(to_float(element));
  else
    return static_cast<double>(element);
}

}  // namespace headrace::inline v1::detail
