#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// The fields of a NIfTI header that matter here, in the machine's byte order, unchecked.
struct NiftiFields {
  int version = 0;  ///< 1 or 2; 0: it is no NIfTI header
  bool swap = false;
  bool pair = false;
  std::array<std::int64_t, 8> dim{};
  std::int64_t datatype = 0, bitpix = 0;
  std::array<double, 8> pixdim{};
  double offset = 0.0;  ///< of the voxels
  double slope = 0.0, inter = 0.0;
  std::int64_t qform = 0, sform = 0;  ///< codes
  std::array<double, 3> quaternion{}, qoffset{};
  std::array<double, 12> srow{};
};

/// Takes them out of the first bytes of a file; version 0 where these are not a whole header.
NiftiFields nifti_fields(std::span<const std::byte> start) noexcept;

}  // namespace headrace::inline v1::detail
