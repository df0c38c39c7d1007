#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headrace::inline v1 {

/// Edits (insert, delete, replace, swap of neighbours) between two words.
HEADRACE_API std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name a writer most likely meant; nothing if none is near enough (more than a third of its
/// letters differ).
HEADRACE_API std::optional<std::string> nearest_name(std::string_view written,
                                                     std::span<const std::string> names);

/// `; did you mean "NAME"?` of the nearest name, behind a message; nothing if none is near enough.
HEADRACE_API std::string did_you_mean(std::string_view written, std::span<const std::string> names);

}  // namespace headrace::inline v1
