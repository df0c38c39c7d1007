#pragma once

#include <headrace/loaders/volume/detail/array/store_folder.h>
#include <headrace/loaders/volume/detail/zarr/ome_multiscales.h>
#include <headrace/loaders/volume/detail/zarr/zarr_array.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <array>
#include <optional>

namespace headrace::inline v1::detail {

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
