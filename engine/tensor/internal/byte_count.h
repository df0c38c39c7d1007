#pragma once

#include <headrace/engine/base/error.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/engine/tensor/shape.h>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace headrace::inline v1::detail {

/// Bytes of a packed tensor. Throws ConfigError when they do not fit into 63 bits.
inline std::size_t byte_count(DType dtype, const Shape& shape) {
  const auto elements = static_cast<std::size_t>(shape.elements());
  const auto most = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  if (elements > most / sizeof(std::int64_t)) {
    throw ConfigError("[shape] the bytes of " + to_string(shape) + " must fit into 63 bits");
  }
  return elements * size_of(dtype);
}

}  // namespace headrace::inline v1::detail
