#pragma once

#include <headrace/loaders/image/detail/jpeg/huffman_table.h>
#include <headrace/loaders/image/detail/jpeg/jpeg_bits.h>
#include <headrace/loaders/image/jpeg_row.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

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
  using Predictors = JpegRow::Predictors;

  /// Reads one MCU over.
  void skip_mcu(JpegBitReader& bits, Predictors& before) const;

 private:
  void read_tables(std::span<const std::uint8_t> segment);
  void read_frame(std::span<const std::uint8_t> segment, std::size_t at);
  void read_scan(std::span<const std::uint8_t> segment);

  std::array<std::uint8_t, most_components> ids_{};
  std::array<std::uint8_t, most_components> h_{};
  std::array<std::uint8_t, most_components> v_{};
};

}  // namespace headrace::inline v1::detail
