#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// What the `size` (0 to 15) bits behind a code of that size stand for (ISO/IEC 10918-1, F.2.2.1).
inline int extend(std::uint32_t bits, int size) noexcept {
  const auto value = static_cast<int>(bits);
  return value < (1 << size >> 1) ? value - (1 << size) + 1 : value;
}

/// A Huffman table of a baseline JPEG (ISO/IEC 10918-1, C and F.2.2.3).
class HuffmanTable {
 public:
  /// `lengths[i]` codes of i + 1 bits, then their symbols. False for an impossible one.
  bool define(std::span<const std::uint8_t> lengths, std::span<const std::uint8_t> symbols);
  bool defined() const noexcept { return defined_; }

  struct Code {
    int length = 0;  ///< 0: none
    int symbol = 0;
  };
  /// The code that 16 bits begin with.
  Code find(std::uint32_t ahead) const {
    const std::uint16_t quick = quick_[ahead >> 8];
    return quick != 0 ? Code{quick >> 8, quick & 0xff} : find_long(ahead);
  }

 private:
  Code find_long(std::uint32_t ahead) const;

  bool defined_ = false;
  std::array<std::uint16_t, 256> quick_{};  ///< by 8 bits: length << 8 | symbol
  std::array<std::int32_t, 17> limit_{};    ///< by length: one past its largest code, 16 bits wide
  std::array<std::int32_t, 17> offset_{};   ///< by length: index of a symbol less its code
  std::array<std::uint8_t, 256> symbols_{};
};

}  // namespace headrace::inline v1::detail
