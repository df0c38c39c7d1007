#pragma once

#include <headrace/engine/base/error.h>

#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace headrace::inline v1::detail {

inline constexpr std::size_t cache_line = 64;

struct FreeAligned {
  void operator()(std::byte* memory) const noexcept {
    ::operator delete (memory, std::align_val_t{cache_line});
  }
};

using AlignedMemory = std::unique_ptr<std::byte, FreeAligned>;

/// Bytes that allocate_aligned() takes: whole cache lines, at least one.
constexpr std::size_t aligned_size(std::size_t bytes) noexcept {
  return bytes == 0 ? cache_line : (bytes + cache_line - 1) / cache_line * cache_line;
}

/// Memory that begins on a cache line, contents undefined. Throws ResourceError when there is none.
inline AlignedMemory allocate_aligned(std::size_t bytes) {
  const std::size_t whole = aligned_size(bytes);
  void* memory =
      whole < bytes ? nullptr : ::operator new (whole, std::align_val_t{cache_line}, std::nothrow);
  if (memory == nullptr) {
    throw ResourceError("[memory] " + std::to_string(bytes) +
                        " bytes for a tensor cannot be had; use smaller samples or batches");
  }
  return AlignedMemory(static_cast<std::byte*>(memory));
}

}  // namespace headrace::inline v1::detail
