#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <headrace/loaders/image/detail/jpeg_bits.h>

namespace headrace::inline v1::detail {

/// A Huffman table of a baseline JPEG (ISO/IEC 10918-1, C and F.2.2.3), for reading and, as DC
/// table, for writing.
class HuffmanTable {
 public:
  /// `lengths[i]` codes of i + 1 bits, then their symbols. Throws DataError for an impossible one.
  void define(std::span<const std::uint8_t> lengths, std::span<const std::uint8_t> symbols);
  bool defined() const noexcept { return defined_; }

  struct Code {
    int length = 0;
    int symbol = 0;
  };
  /// The code that 16 bits begin with.
  Code find(std::uint32_t ahead) const {
    const std::uint16_t quick = quick_[ahead >> 8];
    return quick != 0 ? Code{quick >> 8, quick & 0xff} : find_long(ahead);
  }
  int read(JpegBitReader& bits) const {
    const Code code = find(bits.peek(16));
    bits.drop(code.length);
    return code.symbol;
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

/// A baseline JPEG with one scan of all its components and no restart markers, as far as its
/// entropy-coded data can be cut without decoding pixels. Holds no memory of its own worth keeping;
/// the file must outlive it.
struct JpegScan {
  static constexpr int most_components = 4;
  static constexpr int most_blocks = 10;  ///< of an MCU

  std::span<const std::uint8_t> file;
  int width = 0;
  int height = 0;
  int components = 0;
  int across = 1;  ///< largest horizontal sampling factor
  int down = 1;    ///< largest vertical sampling factor
  int mcus_x = 0;
  int mcus_y = 0;
  int blocks = 0;                                        ///< of an MCU
  std::array<std::uint8_t, most_blocks> component_of{};  ///< each block's
  std::array<std::uint8_t, most_components> dc_table{};
  std::array<std::uint8_t, most_components> ac_table{};
  std::array<HuffmanTable, 4> dc;
  std::array<HuffmanTable, 4> ac;
  std::size_t frame = 0;          ///< of the height in the frame header
  std::size_t entropy_first = 0;  ///< first byte of entropy-coded data
  bool coarse_x = false;          ///< a component is sampled more coarsely than another, across
  bool coarse_y = false;          ///< likewise, down

  int mcu_width() const noexcept { return 8 * across; }
  int mcu_height() const noexcept { return 8 * down; }

  /// Reads the markers up to the scan. Throws DataError for anything that is not as above.
  void parse(std::span<const std::byte> jpeg);

  /// What a decoder of a part needs of the markers: no application data but JFIF's and Adobe's, no
  /// comments. Appends to `out` and returns one past the last byte; `width` and `height` are the
  /// part's.
  std::uint8_t* write_markers(std::uint8_t* out, int part_width, int part_height) const;

  /// DC values that the next MCU's are differences to.
  using Predictors = std::array<int, most_components>;

  /// Reads one MCU over.
  void skip_mcu(JpegBitReader& bits, Predictors& before) const;
  /// The same, and writes it as it must stand after an MCU with DC values `written`.
  void copy_mcu(JpegBitReader& bits, Predictors& before, JpegBitWriter& out,
                const Predictors& written) const;

 private:
  void read_tables(std::span<const std::uint8_t> segment);
  void read_frame(std::span<const std::uint8_t> segment, std::size_t at);
  void read_scan(std::span<const std::uint8_t> segment);

  std::array<std::uint8_t, most_components> ids_{};
  std::array<std::uint8_t, most_components> h_{};
  std::array<std::uint8_t, most_components> v_{};
};

}  // namespace headrace::inline v1::detail
