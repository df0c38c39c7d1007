#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// Half up of share * a + (1 - share) * b, 0 <= share <= 1, taken in steps of 1 / 65536; `to` may
/// be either. The same bytes on every machine.
void blend(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* to, std::int64_t count,
           float share);

}  // namespace headrace::inline v1::detail
