#pragma once

#include <headrace/engine/base/export.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// The CRC-32 of Castagnoli's polynomial (RFC 3720).
HEADRACE_API std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

}  // namespace headrace::inline v1::detail
