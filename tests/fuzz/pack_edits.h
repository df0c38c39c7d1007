#pragma once

#include <headrace/tests/fuzz/edits.h>

#include <cstddef>
#include <vector>

namespace headrace::test {

using PackBytes = std::vector<std::byte>;

/// Sound files to begin with: 0 a pack of crop-indexed images,
/// from 1 on crop-indexed JPEG files of several kinds.
inline constexpr std::size_t pack_seeds = 5;
PackBytes pack_seed(std::size_t which);

/// Makes the checksums of a pack's header and index, or of a crop index, right again.
void repair_pack(PackBytes& file);
void repair_crop_index(PackBytes& file);

}  // namespace headrace::test
