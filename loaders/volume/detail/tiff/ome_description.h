#pragma once

#include <headrace/loaders/volume/detail/tiff/stack_description.h>

#include <string_view>

namespace headrace::inline v1::detail {

/// Whether a description is OME's XML.
bool is_ome_description(std::string_view text) noexcept;

/// What it says of its one image: extents, lengths, and which page holds which plane. Throws
/// DataError with the rule alone: several images, planes in other files, numbers that are none.
StackDescription ome_description(std::string_view text, const StackFacts& facts);

}  // namespace headrace::inline v1::detail
