#pragma once

#include <headrace/engine/tensor/half_floats.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstddef>
#include <type_traits>

namespace headrace::inline v1::app {

/// Calls `work(place, value)` for each value of a tensor of any number type, as a double.
template <class Work>
void for_each_value(const Tensor& tensor, const Work& work) {
  const auto all = [&]<class T>(const T*) {
    const auto values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>)
        work(i, static_cast<double>(values[i]));
      else
        work(i, double{to_float(values[i])});
    }
  };
  // clang-format off
  switch (tensor.dtype()) {
    case DType::uint8: return all(tensor.data<std::uint8_t>());
    case DType::int8: return all(tensor.data<std::int8_t>());
    case DType::uint16: return all(tensor.data<std::uint16_t>());
    case DType::int16: return all(tensor.data<std::int16_t>());
    case DType::uint32: return all(tensor.data<std::uint32_t>());
    case DType::int32: return all(tensor.data<std::int32_t>());
    case DType::uint64: return all(tensor.data<std::uint64_t>());
    case DType::int64: return all(tensor.data<std::int64_t>());
    case DType::float16: return all(tensor.data<float16_t>());
    case DType::bfloat16: return all(tensor.data<bfloat16_t>());
    case DType::float32: return all(tensor.data<float>());
    case DType::float64: return all(tensor.data<double>());
    case DType::boolean: return all(tensor.data<bool>());
  }
  // clang-format on
}

}  // namespace headrace::inline v1::app
