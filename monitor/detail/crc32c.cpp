#include <headrace/monitor/detail/crc32c.h>

#include <array>

namespace headrace::inline v1::monitor::detail {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82f63b78U;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit)
      rest = (rest >> 1) ^ ((rest & 1U) != 0 ? reflected_polynomial : 0U);
    table[byte] = rest;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t rest = ~0U;
  for (const char byte : bytes)
    rest = (rest >> 8) ^ table[(rest ^ static_cast<unsigned char>(byte)) & 0xffU];
  return ~rest;
}

}  // namespace headrace::inline v1::monitor::detail
