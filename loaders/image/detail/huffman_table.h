#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// A Huffman table of a baseline JPEG (ISO/IEC 10918-1, C and F.2.2.3), for reading and, as DC
/// table, for writing.
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

  /// Bits of a DC category's code; 0 when the table has none.
  int code_length(int category) const noexcept {
    return length_[static_cast<std::size_t>(category)];
  }
  std::uint32_t code(int category) const noexcept {
    return code_[static_cast<std::size_t>(category)];
  }

 private:
  Code find_long(std::uint32_t ahead) const;

  bool defined_ = false;
  std::array<std::uint16_t, 256> quick_{};  ///< by 8 bits: length << 8 | symbol
  std::array<std::int32_t, 17> limit_{};    ///< by length: one past its largest code, 16 bits wide
  std::array<std::int32_t, 17> offset_{};   ///< by length: index of a symbol less its code
  std::array<std::uint8_t, 256> symbols_{};
  std::array<std::uint8_t, 12> length_{};
  std::array<std::uint16_t, 12> code_{};
};

}  // namespace headrace::inline v1::detail
