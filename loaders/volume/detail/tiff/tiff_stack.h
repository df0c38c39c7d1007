#pragma once

#include <headrace/loaders/file/folder_entries.h>
#include <headrace/loaders/volume/detail/tiff/tiff_handle.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace headrace::inline v1::detail {

/// Where the pages of a volume are: in one file, or each first in a file of its own.
struct TiffStack {
  VolumeInfo info;
  std::shared_ptr<const VoxelFile> file;      ///< null: a file a page
  std::vector<std::uint64_t> directories;     ///< of one file, by page
  std::vector<std::filesystem::path> slices;  ///< files, by page
  std::vector<FileStamp> stamps;              ///< of those
  /// The pages lie from here on in one piece, and only the first has a directory, as
  /// ImageJ writes what is larger than 4 GiB; 0: each has one.
  std::uint64_t pieces = 0;
  std::size_t part_bytes = 0;                     ///< of the largest strip or tile
  bool swapped = false;                           ///< those are of the other byte order
  std::int64_t channel_step = 1, slice_step = 1;  ///< pages from one to the next

  /// The page of a slice of a channel.
  std::size_t page(std::int64_t channel, std::int64_t z) const noexcept {
    return static_cast<std::size_t>(channel * channel_step + z * slice_step);
  }
};

/// Reads all directories of a file once. Throws as open_tiff_volume().
TiffStack index_tiff(const std::filesystem::path& path, const VolumeLimits& limits);
/// The same of the TIFF files in a folder.
TiffStack index_tiff_folder(const std::filesystem::path& folder, const VolumeLimits& limits);
/// Whether an entry of a folder is a slice by its name: .tif or .tiff, not hidden.
bool is_tiff_slice(const FolderEntry& entry);

}  // namespace headrace::inline v1::detail
