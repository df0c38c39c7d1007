#pragma once

#include <headrace/engine/sample/source.h>

#include <cstdint>
#include <vector>

namespace headrace::inline v1::app {

/// A mask in the size that its file has.
struct ObjectMask {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels{};  ///< row by row: 1 of the object, 0
};

/// Reads the field "mask" of a record (ragged uint8, the bytes of a file). The object is grey above
/// 128, as the published measures have it. Any thread. Throws DataError that names the file.
ObjectMask read_object_mask(const Source& records, std::int64_t index);

/// The largest grey that such a mask's file stores, likewise.
int largest_of_mask(const Source& records, std::int64_t index);

}  // namespace headrace::inline v1::app
