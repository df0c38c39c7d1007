#pragma once

#include <headrace/loaders/image/detail/jpeg/jpeg_scan.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// Where segments of `segment_mcus` MCUs begin in the entropy-coded data of a JPEG, and the DC
/// values before them. Format: docs/pack-format.md, "Crop index".
struct CropIndex {
  static constexpr std::size_t footer_bytes = 48;
  static constexpr int dc_bits = 12;
  static constexpr int most_offset_bits = 32;

  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t components = 0;
  std::uint8_t orientation = 1;
  std::uint8_t mcu_width = 8;
  std::uint8_t mcu_height = 8;
  std::uint16_t segment_mcus = 0;
  std::uint8_t offset_bits = 0;
  std::uint32_t jpeg_bytes = 0;           ///< of the file before the index
  std::uint32_t entropy_first = 0;        ///< in the file
  std::span<const std::uint8_t> rows;     ///< u32 a row of MCUs: its first byte after entropy_first
  std::span<const std::uint8_t> entries;  ///< packed bits

  struct Entry {
    BitPlace place;
    JpegScan::Predictors before{};
  };

  int mcus_x() const noexcept { return (static_cast<int>(width) + mcu_width - 1) / mcu_width; }
  int mcus_y() const noexcept { return (static_cast<int>(height) + mcu_height - 1) / mcu_height; }
  int segments() const noexcept { return (mcus_x() + segment_mcus - 1) / segment_mcus; }
  int entry_bits() const noexcept { return offset_bits + dc_bits * components; }

  /// The boundary before segment `segment` of a row; segments() names the end of the row.
  Entry at(int row, int segment) const noexcept;

  static bool recognises(std::span<const std::uint8_t> file) noexcept;
  /// Throws DataError.
  void read(std::span<const std::uint8_t> file);

  /// Holds every entry against the data of the JPEG that the index stands behind, read once. Throws
  /// DataError for the first that differs, and for a JPEG that cannot be indexed.
  void check(const JpegScan& scan) const;

  /// The bytes to stand behind a JPEG, made by reading its entropy-coded data once. Throws
  /// DataError for a file that cannot be indexed.
  static std::vector<std::uint8_t> make(std::span<const std::byte> jpeg, int orientation,
                                        int segment_pixels);
};

}  // namespace headrace::inline v1::detail
