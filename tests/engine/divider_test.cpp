#include <headrace/engine/base/internal/divider.h>

#include <cstdint>
#include <initializer_list>
#include <limits>

#include <doctest/doctest.h>

namespace {

TEST_CASE("a divider divides as the processor does, at the ends of every range") {
  constexpr std::uint64_t word = std::uint64_t{1} << 32;
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t divisor :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{7}, std::uint64_t{256},
        std::uint64_t{641}, std::uint64_t{65537}, word / 3, word - 1, word, word + 1, most / 2,
        most}) {
    const headrace::detail::Divider divide(divisor);
    for (const std::uint64_t near : {std::uint64_t{0}, divisor, 2 * divisor, 1000 * divisor,
                                     word / divisor * divisor, word, most / divisor * divisor}) {
      for (std::uint64_t dividend : {near - 2, near - 1, near, near + 1, near + 2}) {
        CAPTURE(divisor);
        CAPTURE(dividend);
        CHECK(divide(dividend) == dividend / divisor);
      }
    }
  }
}

}  // namespace
