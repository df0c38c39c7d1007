#pragma once

#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What the header of a NIfTI-1 or NIfTI-2 file says, checked but for what its file's size must be.
struct NiftiHeader {
  VolumeInfo info;           ///< block is not set
  std::uint64_t offset = 0;  ///< of the first voxel in the file that has them
  bool swap = false;         ///< of the other byte order
  bool pair = false;         ///< the voxels are in a file of their own (.hdr and .img)
};

/// Bytes of the longest header, NIfTI-2's.
inline constexpr std::size_t nifti_header_bytes = 540;

/// Whether a file that begins so is NIfTI, of either version and byte order.
bool is_nifti(std::span<const std::byte> start) noexcept;

/// Reads the first bytes of a file, as many of nifti_header_bytes as it has. The affine is the
/// sform, else the qform, else what nibabel makes of pixdim: x to the left, the origin in the
/// middle. Throws DataError with the bare rule that the header breaks.
NiftiHeader parse_nifti_header(std::span<const std::byte> start);

/// The number that NIfTI has for a type; 0 where there is none.
int nifti_datatype(DType dtype) noexcept;

}  // namespace headrace::inline v1::detail
