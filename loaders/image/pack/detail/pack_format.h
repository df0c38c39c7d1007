#pragma once

#include <headrace/loaders/internal/indexed_file.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// Numbers of a pack file (docs/pack-format.md), all little-endian.
struct PackFormat {
  static constexpr std::size_t page = IndexedFile::page;
  static constexpr std::size_t entry_bytes = 80;
  static constexpr std::uint32_t version = 2;
  static constexpr std::uint32_t oldest_version = 1;  ///< the same without label sets and splits
  static constexpr std::uint64_t most_record_bytes = std::uint64_t{1} << 31;
};

/// The first page.
struct PackHeader {
  std::uint64_t records = 0;
  std::uint64_t index_bytes = 0;   ///< the index begins at the second page
  std::uint64_t names_offset = 0;  ///< page-aligned, like all that follows
  std::uint64_t names_bytes = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t file_bytes = 0;   ///< 0 until the file is whole
  std::uint64_t fingerprint = 0;  ///< of what it is made from and how: an interrupted one goes on
  std::uint32_t alignment = PackFormat::page;  ///< of records
  std::uint32_t classes = 0;
  std::uint32_t groups = 0;
  std::uint32_t label_sets = 0;  ///< 0: a record has one label or none
  std::uint32_t index_checksum = 0;
  std::uint32_t names_checksum = 0;
  bool has_labels = false;
  bool has_weights = false;
  bool has_groups = false;
  bool has_masks = false;
  bool has_splits = false;

  std::array<std::byte, PackFormat::page> encode() const;
  /// Throws DataError (bare rule) for a page that is no header or is damaged.
  static PackHeader decode(std::span<const std::byte> page);
};

enum class PackState : std::uint8_t { missing, whole, skipped };
enum class PackContent : std::uint8_t { original, shrunk, crop_indexed };

/// An entry of the index: one record.
struct PackEntry {
  std::uint64_t offset = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t mask_bytes = 0;  ///< the mask follows its image
  std::uint32_t image_checksum = 0;
  std::uint32_t mask_checksum = 0;
  std::int64_t label = -1;  ///< number of a class, or of a label set
  std::int64_t group = -1;
  double weight = 1.0;
  std::uint64_t name_end = 0;  ///< in the names, after classes, groups and label sets
  std::uint32_t width = 0;     ///< as shown
  std::uint32_t height = 0;
  PackState state = PackState::missing;
  PackContent content = PackContent::original;
  std::uint8_t split = 0;  ///< 0: none, else 1 + DataSplit

  void encode(std::byte* to) const;
  /// Throws DataError (bare rule) where its own checksum is another.
  static PackEntry decode(const std::byte* from);
};

/// The names: classes, groups and label sets (the int32 numbers of their classes) with their
/// lengths, then all paths end to end.
struct PackNames {
  std::vector<std::string> classes;
  std::vector<std::string> groups;
  std::vector<std::string> label_sets;
  std::string paths;

  std::string encode() const;
  /// Throws DataError (bare rule).
  static PackNames decode(std::string_view bytes, const PackHeader& header);
};

inline std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

}  // namespace headrace::inline v1::detail
