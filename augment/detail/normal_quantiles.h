#pragma once

#include <cstdint>

namespace headrace::inline v1::detail {

/// A standard normal value from 32 uniform bits: the quantile of the middle of one of 4096 equal
/// parts, within about 3.7. The same on every machine.
double normal_quantile(std::uint32_t bits);

}  // namespace headrace::inline v1::detail
