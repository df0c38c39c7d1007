#include <headrace/loaders/image/detail/jpeg/huffman_table.h>

#include <algorithm>

namespace headrace::inline v1::detail {

bool HuffmanTable::define(std::span<const std::uint8_t> lengths,
                          std::span<const std::uint8_t> symbols) {
  defined_ = false;
  quick_.fill(0);
  std::int32_t code = 0;
  std::int32_t index = 0;
  for (int length = 1; length <= 16; ++length) {
    const auto l = static_cast<std::size_t>(length);
    offset_[l] = index - code;
    for (int i = 0; i < lengths[l - 1]; ++i, ++code, ++index) {
      if (code >= 1 << length) return false;
      const std::uint8_t symbol = symbols[static_cast<std::size_t>(index)];
      symbols_[static_cast<std::size_t>(index)] = symbol;
      if (length > 8) continue;
      const auto first = static_cast<std::size_t>(code) << (8 - length);
      std::fill_n(quick_.begin() + static_cast<std::ptrdiff_t>(first), 1U << (8 - length),
                  static_cast<std::uint16_t>(length << 8 | symbol));
    }
    limit_[l] = code << (16 - length);
    code <<= 1;
  }
  defined_ = true;
  return true;
}

HuffmanTable::Code HuffmanTable::find_long(std::uint32_t ahead) const {
  for (int length = 9; length <= 16; ++length) {
    const auto l = static_cast<std::size_t>(length);
    if (static_cast<std::int32_t>(ahead) >= limit_[l]) continue;
    const std::int32_t index = static_cast<std::int32_t>(ahead >> (16 - length)) + offset_[l];
    return {length, symbols_[static_cast<std::size_t>(index) & 0xff]};
  }
  return {};
}

}  // namespace headrace::inline v1::detail
