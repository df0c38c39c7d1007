#include <headrace/engine/base/internal/crc32c.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

std::uint32_t crc32c(std::string_view text) {
  return headrace::detail::crc32c(std::as_bytes(std::span(text)));
}

}  // namespace

TEST_CASE("CRC-32C has the values of RFC 3720, B.4") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43U);
  std::string rising;
  for (int i = 0; i < 32; ++i)
    rising += static_cast<char>(i);
  CHECK(crc32c(rising) == 0x46dd794eU);
  CHECK(crc32c(std::string(rising.rbegin(), rising.rend())) == 0x113fdb5cU);
}
