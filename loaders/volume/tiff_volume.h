#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_limits.h>

#include <filesystem>
#include <memory>

namespace headrace::inline v1 {

/// A TIFF or BigTIFF file whose pages are the slices along z, or a folder of files of one page
/// (.tif, .tiff) in the order of their numbers, slice2 before slice10: one grey sample a pixel,
/// integers of 8 to 64 bits or floats of 32 or 64, as stored (no palette, no inverted white), in
/// strips or tiles, in every compression that libtiff has. Pages of one size and type; smaller
/// copies and masks are passed over. A block is a page, or some strips, tiles or rows of one larger
/// than 2 MiB. Channels, slices and their order are those that ImageJ, OME-TIFF or tifffile
/// describe, ImageJ's and tifffile's stacks with one directory for all pages among them; lengths
/// are those of ImageJ and OME-TIFF in their units, others say none. Refused are several time
/// points or images, pages that lie in other files, descriptions of more or fewer pages than there
/// are, and directories of several slices (ImageDepth, MetaMorph's STK, Zeiss's LSM with time
/// points). Directories are read once, at opening. Throws ConfigError when there is no such file,
/// DataError for one that is broken or of another kind.
HEADRACE_API std::shared_ptr<const Volume> open_tiff_volume(const std::filesystem::path& path,
                                                            const VolumeLimits& limits = {});

}  // namespace headrace::inline v1
