#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// The same DCT coefficients as a baseline JPEG of one scan without restart markers: AC tables made
/// for the image, DC tables that can write any difference (those of ISO/IEC 10918-1, K.3), no
/// metadata but JFIF's, Adobe's and the orientation. Decodes to the same pixels. Throws DataError
/// for a broken file and for what baseline cannot hold.
std::vector<std::byte> to_baseline_jpeg(std::span<const std::byte> jpeg);

}  // namespace headrace::inline v1::detail
