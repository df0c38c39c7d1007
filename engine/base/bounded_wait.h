#pragma once

#include <chrono>

namespace headrace::inline v1 {

/// A time to wait, a century at most: a clock's present and a longer one together would pass the
/// last time that the clock knows, and the wait would be over at once.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds bounded_wait(std::chrono::duration<Rep, Period> time) noexcept {
  constexpr std::chrono::hours century{24 * 365 * 100};
  return time < century ? std::chrono::duration_cast<std::chrono::nanoseconds>(time)
                        : std::chrono::nanoseconds(century);
}

}  // namespace headrace::inline v1
