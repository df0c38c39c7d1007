#pragma once

#include <headrace/engine/base/internal/mix.h>

#include <cstdint>

namespace headrace::inline v1::detail {

/// Division by a number that is known long before: a multiplication where divisor and dividend have
/// 32 bits (Lemire, Kaser, Kurz: "Faster Remainder by Direct Computation", 2019), else a division.
class Divider {
 public:
  Divider() = default;
  /// `divisor` is at least 1.
  explicit constexpr Divider(std::uint64_t divisor) noexcept
      : divisor_(divisor),
        inverse_(divisor > 1 && divisor >> 32 == 0 ? ~std::uint64_t{0} / divisor + 1 : 0) {}

  constexpr std::uint64_t operator()(std::uint64_t dividend) const noexcept {
    if (inverse_ != 0 && dividend >> 32 == 0) return multiply(inverse_, dividend).high;
    return dividend / divisor_;
  }

 private:
  std::uint64_t divisor_ = 1;
  std::uint64_t inverse_ = 0;
};

}  // namespace headrace::inline v1::detail
