#pragma once

#include <array>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace headrace::inline v1::detail {

/// What OME-Zarr's metadata (0.4 and 0.5) say of the finest scale of an image.
struct OmeScale {
  std::string path{};                            ///< of its array, in the group
  std::vector<std::string> axes{};               ///< "t", "c", "z", "y", "x"; empty: not told
  std::array<double, 3> spacing{1.0, 1.0, 1.0};  ///< millimetres along z, y, x
  std::array<double, 3> origin{0.0, 0.0, 0.0};   ///< of voxel 0
};

/// Reads the first image of a group's attributes. Throws DataError with the rule alone.
OmeScale read_multiscales(const nlohmann::json& attributes);

}  // namespace headrace::inline v1::detail
