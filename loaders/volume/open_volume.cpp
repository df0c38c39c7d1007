#include <headrace/engine/base/error.h>
#include <headrace/loaders/file/printable.h>
#include <headrace/loaders/volume/b2nd_volume.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/detail/nifti/gzip_reader.h>
#include <headrace/loaders/volume/detail/nifti/nifti_header.h>
#include <headrace/loaders/volume/detail/tiff/tiff_stack.h>
#include <headrace/loaders/volume/detail/voxel/voxel_file.h>
#include <headrace/loaders/volume/hdf5_volume.h>
#include <headrace/loaders/volume/nifti_volume.h>
#include <headrace/loaders/volume/open_volume.h>
#include <headrace/loaders/volume/tiff_volume.h>
#include <headrace/loaders/volume/zarr_volume.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {
namespace {

namespace fs = std::filesystem;
using VolumePointer = std::shared_ptr<const Volume>;

/// What a format is known by.
struct Start {
  const fs::path& path;
  bool folder = false;
  std::vector<std::byte> bytes;  ///< the first of a file

  bool has(std::size_t at, std::string_view text) const {
    return bytes.size() >= at + text.size() &&
           std::equal(text.begin(), text.end(), reinterpret_cast<const char*>(bytes.data()) + at);
  }
};

bool starts_as_nifti(const Start& start) {
  return detail::is_nifti(start.bytes);
}

bool starts_as_tiff(const Start& start) {
  using namespace std::string_view_literals;
  return start.has(0, "II*\0"sv) || start.has(0, "MM\0*"sv) || start.has(0, "II+\0"sv) ||
         start.has(0, "MM\0+"sv);
}

/// A folder with a slice in it.
bool holds_slices(const Start& start) {
  if (!start.folder) return false;
  try {
    return std::ranges::any_of(detail::folder_entries(start.path.native()), detail::is_tiff_slice);
  } catch (const fs::filesystem_error& failure) {
    detail::cannot_list(failure, "volume");
  }
}

/// The signature stands at the start, or behind a user block.
bool starts_as_hdf5(const Start& start) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  return start.has(0, signature) || start.has(512, signature) || start.has(1024, signature) ||
         start.has(2048, signature);
}

bool starts_as_b2nd(const Start& start) {
  return start.has(2, "b2frame");
}

/// A format of volumes.
struct Format {
  const char* name;                        ///< for messages, with its files
  std::vector<std::string_view> suffixes;  ///< of names that are taken for it by themselves
  bool (*starts)(const Start& start);      ///< whether a file or folder is of it
  VolumePointer (*open)(const fs::path& path, const VolumeOptions& options);
};

const std::array formats{
    Format{"NIfTI (.nii, .nii.gz, .hdr with .img)",
           {".nii", ".nii.gz", ".hdr", ".hdr.gz", ".img", ".img.gz"},
           starts_as_nifti,
           [](const fs::path& path, const VolumeOptions& options) {
             return open_nifti_volume(path, options.limits);
           }},
    Format{"TIFF (.tif, .tiff)",
           {".tif", ".tiff"},
           starts_as_tiff,
           [](const fs::path& path, const VolumeOptions& options) {
             return open_tiff_volume(path, options.limits);
           }},
    Format{"Headrace's chunk store (.hrv)",
           {".hrv"},
           [](const Start& start) { return ChunkStoreVolume::recognises(start.bytes); },
           [](const fs::path& path, const VolumeOptions& options) -> VolumePointer {
             return std::make_shared<const ChunkStoreVolume>(path, options.limits);
           }},
    Format{"nnU-Net's Blosc2 arrays (.b2nd)",
           {".b2nd"},
           starts_as_b2nd,
           [](const fs::path& path, const VolumeOptions& options) {
             return open_b2nd_volume(path, options.limits);
           }},
    Format{"Zarr and OME-Zarr (.zarr)",
           {},
           [](const Start& start) { return start.folder && is_zarr(start.path); },
           [](const fs::path& path, const VolumeOptions& options) {
             return open_zarr_volume(path, options.limits);
           }},
    Format{"a folder of TIFF slices",
           {},
           holds_slices,
           [](const fs::path& path, const VolumeOptions& options) {
             return open_tiff_volume(path, options.limits);
           }},
    Format{"HDF5 (.h5, .hdf5)",
           {".h5", ".hdf5"},
           starts_as_hdf5,
           [](const fs::path& path, const VolumeOptions& options) {
             return open_hdf5_volume(path, options);
           }},
};

Start start_of(const fs::path& path) {
  constexpr std::size_t wanted = 4096;
  std::error_code none;
  Start start{.path = path, .folder = fs::is_directory(path, none), .bytes = {}};
  if (start.folder) return start;
  const detail::VoxelFile file(path, "volume");
  start.bytes.resize(wanted);
  start.bytes.resize(file.read_some(start.bytes, 0));
  return start;
}

[[noreturn]] void refuse(const fs::path& path) {
  std::string known;
  for (const Format& format : formats)
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  throw ConfigError("[volume] " + detail::printable(path.native()) +
                    ": must be a volume of a format that is known (" + known +
                    "), got another; convert it to one of these");
}

}  // namespace

bool is_named_as_volume(std::string_view name) noexcept {
  if (name.ends_with(".img") || name.ends_with(".img.gz")) return false;
  if (name.ends_with(".zarr")) return true;
  return std::ranges::any_of(formats, [name](const Format& format) {
    return std::ranges::any_of(format.suffixes,
                               [name](std::string_view suffix) { return name.ends_with(suffix); });
  });
}

VolumePointer open_volume(const fs::path& path, const VolumeOptions& options) {
  const Start start = start_of(path);
  for (const Format& format : formats)
    if (format.starts(start)) return format.open(path, options);
  const std::string name = path.filename().string();
  for (const Format& format : formats) {
    const bool named = std::ranges::any_of(
        format.suffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
    if (named && !start.folder) return format.open(path, options);
  }
  refuse(path);
}

}  // namespace headrace::inline v1
