#pragma once

#include <string>
#include <string_view>

namespace headrace::inline v1::detail {

/// A path as a list of another system means it: without blanks before and behind, with slashes for
/// backslashes.
std::string spelled_here(std::string_view path);

/// Why a path below `root` may lead nowhere, to be put behind what is said of it: which name stands
/// there that differs by capitals, by its extension, or by how its letters are written. Empty:
/// nothing is like it.
std::string why_missing(const std::string& root, std::string_view path);

}  // namespace headrace::inline v1::detail
