#pragma once

#include <cstddef>
#include <span>

namespace headrace::inline v1::detail {

/// Length of a JPEG up to its end marker, where it is of the kind that decoders in hardware take
/// and nothing in it is odd, as far as that shows without decoding: baseline, 8 bits, one scan of
/// grey or of YCbCr with chroma of full or half resolution; every segment known, whole and once
/// where it may be once; tables that can be, and are there; restart markers in order and as many as
/// the picture has; no other marker before the end. 0 for every other file: those are the CPU's.
std::size_t device_jpeg_length(std::span<const std::byte> file);

}  // namespace headrace::inline v1::detail
