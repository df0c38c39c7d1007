#pragma once

#include <headrace/engine/tensor/tensor.h>

#include <algorithm>
#include <cstddef>
#include <functional>

namespace headrace::inline v1::detail {

/// Whether an address lies in a piece of memory; a piece of no bytes has its first address.
inline bool within(const void* address, const void* first, std::size_t bytes) noexcept {
  if (first == nullptr) return false;
  const auto* begin = static_cast<const std::byte*>(first);
  const std::less<const void*> before;
  return !before(address, begin) && before(address, begin + std::max<std::size_t>(bytes, 1));
}

inline bool within(const void* address, const Tensor& piece) noexcept {
  return within(address, piece.raw(), piece.bytes());
}

}  // namespace headrace::inline v1::detail
