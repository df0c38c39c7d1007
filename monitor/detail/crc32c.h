#pragma once

#include <headrace/engine/base/export.h>

#include <cstdint>
#include <string_view>

namespace headrace::inline v1::monitor::detail {

// CRC-32C (Castagnoli; RFC 3720, B.4) of the bytes.
HEADRACE_API std::uint32_t crc32c(std::string_view bytes);

}  // namespace headrace::inline v1::monitor::detail
