#pragma once

#include <headrace/engine/base/export.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::inline v1 {

/// A path without its extension, if it has one.
HEADRACE_API std::string_view stem_of(std::string_view path);

/// What masks' names have at their end and those of their images have not, of the files in two
/// folders, as most pairs have it: {"_segmentation"}; {""} where they are called alike. Several
/// where as many have each, the shortest first, and of those only what says so (_mask, -seg, .gt,
/// ...), if one does; none where no mask's name begins with the whole name of an image. Of one
/// folder that holds both, endings alone that say so, and only where half of its files are in
/// pairs. Throws what a listing throws.
HEADRACE_API std::vector<std::string> find_mask_suffixes(const std::filesystem::path& images,
                                                         const std::filesystem::path& masks,
                                                         bool follow_links = false);

}  // namespace headrace::inline v1
