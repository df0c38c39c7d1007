#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <span>

namespace headrace::inline v1 {

/// The orientation (1-8) that a JPEG file's EXIF block asks for; 1 where there is none or it makes
/// no sense. Reads the markers before the first scan only, allocates nothing (EXIF 2.3, tag 0x0112
/// of IFD 0).
HEADRACE_API int exif_orientation(std::span<const std::byte> jpeg) noexcept;

}  // namespace headrace::inline v1
