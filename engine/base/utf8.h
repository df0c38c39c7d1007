#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <string_view>

namespace headrace::inline v1 {

/// Bytes of the UTF-8 sequence at `at` (RFC 3629: no longer forms, no surrogates); 0 where there is
/// none.
HEADRACE_API std::size_t utf8_sequence(std::string_view text, std::size_t at) noexcept;

/// Whether all of a text is UTF-8.
HEADRACE_API bool is_utf8(std::string_view text) noexcept;

/// The character of a sequence that utf8_sequence() found.
HEADRACE_API char32_t utf8_character(std::string_view sequence) noexcept;

/// Whether a character acts on a terminal or on the text around it instead of being seen: C0 and C1
/// controls, DEL, line and paragraph ends, marks of direction.
HEADRACE_API bool is_control(char32_t character) noexcept;

}  // namespace headrace::inline v1
