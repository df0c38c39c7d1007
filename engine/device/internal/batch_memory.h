#pragma once

#include <headrace/engine/device/internal/device_objects.h>
#include <headrace/engine/device/internal/returns.h>
#include <headrace/engine/tensor/tensor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::inline v1::detail {

/// Bytes of a piece of batch memory that holds so many: CUDA's own allocations begin at multiples
/// of 256, and so do the pieces within one.
constexpr std::size_t piece_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t alignment = 256;
  return bytes == 0 ? alignment : (bytes + alignment - 1) / alignment * alignment;
}

/// Memory that is known to be needed for a field that batch operations make.
struct MadePiece {
  std::string name;
  std::size_t bytes = 0;  ///< as piece_bytes() counts
};

/// Memory that a batch lives in, at an address that never changes: a slab of the host, or a slot of
/// a device.
struct BatchMemory : Returnable {
  using Fields = std::vector<std::pair<std::string, Tensor>>;

  std::byte* memory = nullptr;
  Device device;
  /// Pieces in which batch operations make fields, each for those of one name and kept for the next
  /// round. A piece that is free and large enough is taken again, the first that was made first.
  Fields made;
  std::vector<DeviceMemory> more;  ///< of a device: pieces, and such as became too small

  /// Of a device: memory for pieces that are known to be needed lies at `room`, one after another.
  void set_aside(std::byte* room, const std::vector<MadePiece>& pieces);
  /// Memory for a field, contents undefined, in which none of the batch's `fields` lies.
  Tensor make(std::string_view name, DType dtype, const Shape& shape, const Fields& fields);

 private:
  void enlarge(Tensor& piece, std::size_t bytes);
};

}  // namespace headrace::inline v1::detail
