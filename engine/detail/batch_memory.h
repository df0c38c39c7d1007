#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <headrace/engine/detail/device_objects.h>
#include <headrace/engine/detail/returns.h>
#include <headrace/engine/tensor.h>

namespace headrace::inline v1::detail {

/// Memory that a batch lives in, at an address that never changes: a slab of the host, or a slot of
/// a device.
struct BatchMemory : Returnable {
  std::byte* memory = nullptr;
  Device device;
  std::vector<std::pair<std::string, Tensor>>
      made;  ///< memory of fields that batch operations make, kept for the next round
  std::byte* room = nullptr;  ///< of a device: set aside for `made`
  std::size_t room_left = 0;
  std::vector<DeviceMemory> more;  ///< where the room was not enough

  /// Memory for a field of a batch operation: on the host owned by the tensor, on a device by this.
  Tensor make(DType dtype, const Shape& shape);
};

}  // namespace headrace::inline v1::detail
