#pragma once

#include <headrace/loaders/hdf5/detail/file/data_file.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What a dataset of variable length holds for each value: where it lies in a global heap of the
/// file.
struct HeapReference {
  static constexpr std::size_t stored_bytes = 16;  ///< where the file's addresses have 8 bytes

  std::uint32_t length = 0;      ///< elements
  std::uint64_t collection = 0;  ///< address of the heap collection
  std::uint32_t object = 0;      ///< its number there; from 1

  static HeapReference of(const std::byte* stored) noexcept;
};

/// Reads the first to.size() bytes of an object, past the library, which does not check that the
/// object has the size that the reference gives. `base` is what the file's addresses count from.
/// Any thread. Throws DataError for a heap that is damaged or does not have it.
void read_heap_object(const DataFile& file, std::uint64_t base, const HeapReference& reference,
                      std::span<std::byte> to);

}  // namespace headrace::inline v1::detail
