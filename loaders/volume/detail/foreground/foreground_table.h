#pragma once

#include <headrace/loaders/volume/detail/foreground/cell_grid.h>
#include <headrace/loaders/volume/foreground_index.h>
#include <headrace/loaders/volume/volume.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// How many voxels of each label each cell has.
struct ForegroundTable : CellGrid {
  struct Class {
    std::int64_t label = 0;
    std::vector<std::uint32_t> cells;  ///< that have voxels of it, ascending
    std::vector<std::uint64_t> ends;   ///< voxels in these cells and those before them
  };

  VolumeBox bounds{};
  std::vector<Class> classes;  ///< by label, ascending

  const Class* find(std::int64_t label) const noexcept;
};

/// Reads the volume once. Throws DataError naming it.
ForegroundTable scan_foreground(const CachedVolume& labels, const ForegroundOptions& options);

/// What an index that is kept must have been made of.
struct ForegroundKey {
  std::uint64_t file_bytes = 0;
  std::int64_t changed_ns = 0;
  /// Hash of the volume's place in the file, the options, and a sample of the content of the file
  /// and, of a NIfTI pair, of the other one.
  std::uint64_t request = 0;
  friend bool operator==(const ForegroundKey&, const ForegroundKey&) = default;
};

/// A table as it is kept in a file, little-endian: 0 magic (8 bytes), 8 CRC-32 of what follows
/// (u32), 12 version (u32), 16 key (3 numbers of 8 bytes), 40 shape, cell, begin and end of the
/// bounds (4 i64 each), 168 number of labels (u64), then for each its label (i64), its number of
/// cells (u64), the cells (u32 each), their ends (u64 each).
std::vector<std::byte> encode_foreground(const ForegroundTable& table, const ForegroundKey& key);
/// False where the bytes are damaged, of another key, or no table of a volume of that shape.
bool decode_foreground(std::span<const std::byte> bytes, const ForegroundKey& key,
                       ForegroundTable& table);

}  // namespace headrace::inline v1::detail
