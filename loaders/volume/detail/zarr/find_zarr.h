#pragma once

#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <array>
#include <optional>
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

/// An array, where it lies, and what its group tells of it.
struct FoundZarr {
  StoreFolder folder;
  ZarrArray array;
  std::optional<OmeScale> scale{};
};

/// One of them is in the folder of every array and group.
inline constexpr std::array zarr_metadata_files{"zarr.json", ".zarray", ".zgroup"};

/// The array of a folder, or of the image whose group it is. Throws DataError with the rule alone.
FoundZarr find_zarr(const StoreFolder& folder, const VolumeLimits& limits);

}  // namespace headrace::inline v1::detail
