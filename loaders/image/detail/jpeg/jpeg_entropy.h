#pragma once

#include <headrace/loaders/image/detail/jpeg/huffman_table.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_internals.h>
#include <headrace/loaders/image/jpeg_row.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace headrace::inline v1::detail {

/// A Huffman table of AC coefficients by what the next bits hold: mostly one or two whole
/// coefficients, codes and values together.
class CoefficientTable {
 public:
  static constexpr int look = 10;  ///< bits of a look

  /// What a look gives: `values[0]` stands `steps[0]` places on, `values[1]` another `steps[1]`,
  /// and the next one begins `next` places on. Where there is none, zero goes to a place that holds
  /// zero, or the first value to its place again. No `bits` where a look is not enough.
  struct alignas(8) Entry {
    std::uint8_t bits = 0;
    std::uint8_t next = 0;
    std::uint8_t steps[2] = {};
    std::int16_t values[2] = {};
  };

  /// Takes the library's table; nothing is done where it is the one of before.
  void take(const JHUFF_TBL& table);
  const Entry& at(std::uint64_t bits) const noexcept { return entries_[bits >> (64 - look)]; }
  const HuffmanTable& codes() const noexcept { return codes_; }

 private:
  using Entries = std::array<Entry, std::size_t{1} << look>;

  void fill_single(Entries& entries) const;

  Entries entries_{};
  HuffmanTable codes_;
  std::array<std::uint8_t, 17> lengths_{};
  std::array<std::uint8_t, 256> symbols_{};
};

/// Decodes the entropy-coded data of a JPEG in the place of libjpeg-turbo's own decoder, to the
/// same coefficients but faster, and keeps nothing of blocks that no crop needs. For baseline files
/// of one scan without restart markers; all others stay with the library. Fails of what the library
/// warns of, and of every code that stands for nothing, of which the library overlooks some.
class JpegEntropy {
 public:
  /// Takes over a decoder after jpeg_start_decompress(), for this image. False where the image is
  /// not of that kind. Must stay where it is until the image ends. The data follows in the
  /// decoder's source, or, where there are `rows`, stands there: one for each row of MCUs.
  bool attach(jpeg_decompress_struct& info, std::span<const JpegRow> rows = {});

  /// Behind the last MCU of an attached image whose data came from the decoder's source: moves the
  /// source on to the marker that ends the data. False where anything but the last byte's filling
  /// stands before it.
  bool finish(jpeg_decompress_struct& info) const;

 private:
  static constexpr std::size_t most_of_mcu = 10 * 64 * 4;  ///< bytes, and what is loaded beyond
  static constexpr std::size_t chunk = std::size_t{16} << 10;

  /// Bits of data, the next one the most significant.
  struct Bits {
    const std::uint8_t* at = nullptr;  ///< next byte to load
    std::uint64_t held = 0;
    int count = 0;  ///< of `held`; more may stand behind them

    void refill() noexcept;
    void drop(int number) noexcept;
    std::uint32_t take(int number) noexcept;
    int take_symbol(j_decompress_ptr info, const HuffmanTable& table);
  };

  struct Component {
    const HuffmanTable* dc = nullptr;
    const CoefficientTable* ac = nullptr;
    unsigned before = 0;   ///< DC value of the last block
    bool only_dc = false;  ///< the other values do not change a pixel
  };

  static boolean decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks);
  void begin(std::span<const std::uint8_t> data) noexcept;
  void begin_row(j_decompress_ptr info);
  void end_row(j_decompress_ptr info);
  void fetch(j_decompress_ptr info);
  static JCOEF read_dc(j_decompress_ptr info, Component& component, Bits& bits);
  template <bool kKept>
  static int read_one(j_decompress_ptr info, const CoefficientTable& table, Bits& bits,
                      JCOEF* block, int k);
  template <bool kKept>
  static void read_ac(j_decompress_ptr info, const CoefficientTable& table, Bits& bits,
                      JCOEF* block);
  static void read_block(j_decompress_ptr info, Component& component, Bits& bits, JCOEF* block);

  jpeg_entropy_decoder base_{};  // first: the library hands out a pointer to it
  std::array<HuffmanTable, NUM_HUFF_TBLS> dc_;
  std::array<CoefficientTable, NUM_HUFF_TBLS> ac_;
  std::array<Component, MAX_COMPS_IN_SCAN> components_{};
  std::span<const JpegRow> rows_;
  std::size_t row_ = 0;                 ///< of `rows_`, the next one
  JDIMENSION column_ = 0;               ///< of the next MCU
  std::span<const std::uint8_t> rest_;  ///< data not yet in `data_`
  Bits bits_;
  const std::uint8_t* end_ = nullptr;  ///< of the data in `data_`
  bool ended_ = false;                 ///< no data follows: zeros stand behind it
  std::array<std::uint8_t, chunk + 2 * most_of_mcu> data_;
};

}  // namespace headrace::inline v1::detail
