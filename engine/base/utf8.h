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

}  // namespace headrace::inline v1
