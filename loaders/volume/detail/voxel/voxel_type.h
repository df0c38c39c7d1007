#pragma once

#include <headrace/engine/tensor/dtype.h>

#include <array>
#include <cstddef>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace headrace::inline v1::detail {

/// How voxels are stored.
struct VoxelType {
  DType dtype = DType::uint8;
  bool swap = false;  ///< in the other byte order than the machine's

  std::size_t size() const noexcept { return size_of(dtype); }
};

/// One value in the machine's byte order; its size is its type's.
using VoxelBytes = std::array<std::byte, 8>;

/// NumPy's name of a type, '<f4' say. Booleans count as bytes of 0 and 1. Throws DataError with the
/// rule alone, as the others.
VoxelType numpy_type(const std::string& name);

/// Zarr's name of a type (version 3), 'float32' say.
DType zarr_type(const std::string& name);

/// What voxels are that are not stored: a number, a boolean, "NaN", "Infinity", "-Infinity", bits
/// such as "0x7fc00000", a number in quotes; null is 0.
VoxelBytes fill_value(const nlohmann::json& value, DType dtype);

/// All voxels of `to` that value.
void fill_voxels(const VoxelBytes& value, std::size_t size, std::byte* to, std::size_t bytes);

}  // namespace headrace::inline v1::detail
