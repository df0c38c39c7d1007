#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/base/random.h>
#include <headrace/loaders/volume/volume.h>
#include <headrace/loaders/volume/volume_reader.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace headrace::inline v1 {

namespace detail {
struct ForegroundTable;
}  // namespace detail

struct ForegroundOptions {
  /// Labels that are foreground; none: all from 1 to 255, and others than these, 0 and `ignore` are
  /// an error.
  std::vector<std::int64_t> labels{};
  std::optional<std::int64_t> ignore{};  ///< never foreground
  int threads = 1;                       ///< of the scan
  /// After each cell of the scan; one thread at a time. What it throws ends the scan.
  std::function<void(std::int64_t done, std::int64_t all)> on_progress{};
};

/// Where a volume of labels has its foreground: how many voxels of each label are in each cell, a
/// box of a few thousand voxels to 64 a side, so that a voxel of a label is found by reading one.
/// 12 bytes for each label of each cell. Labels are values: stored * scale + offset. Const and
/// thread-safe.
class HEADRACE_API ForegroundIndex {
 public:
  /// Reads the volume once. Throws DataError naming it where it cannot be read or holds what is no
  /// label, ConfigError for options that cannot be right.
  explicit ForegroundIndex(const CachedVolume& labels, const ForegroundOptions& options = {});
  ~ForegroundIndex();
  ForegroundIndex(ForegroundIndex&&) noexcept;
  ForegroundIndex& operator=(ForegroundIndex&&) noexcept;

  /// The same, kept in `file`.headrace-foreground beside the volume's file: read from there where
  /// it is whole and of this file (by size, time of change and a sample of its content, of a NIfTI
  /// pair those of both), shape and labels; else made, and written there where the folder can be
  /// written. Of a folder of files nothing is kept.
  static ForegroundIndex of_file(const CachedVolume& labels, const std::filesystem::path& file,
                                 const ForegroundOptions& options = {});
  /// Where of_file() keeps it.
  static std::filesystem::path kept_file(const std::filesystem::path& file);
  /// Whether of_file() read it.
  bool was_kept() const noexcept { return kept_; }

  /// Labels that have voxels, ascending.
  std::vector<std::int64_t> classes() const;
  /// Voxels of a label; 0 where it is none of classes().
  std::uint64_t count(std::int64_t label) const noexcept;
  /// The least box around all voxels of classes(); empty where there are none.
  VolumeBox bounds() const noexcept;
  std::size_t resident_bytes() const noexcept;

  /// A cell, with the probability of its share of a label's voxels. One draw. Throws DataError
  /// where the label has none.
  std::int64_t pick(std::int64_t label, Random& random) const;
  /// The voxels of a cell.
  VolumeBox cell_box(std::int64_t cell) const noexcept;
  /// Each voxel of a label with the same probability. One draw; reads one cell of `labels`, which
  /// is the volume that the index was made of. Throws DataError where the label has no voxels or
  /// the volume is another by now.
  VolumeIndex pick_voxel(const CachedVolume& labels, std::int64_t label, Random& random) const;

 private:
  ForegroundIndex(std::unique_ptr<const detail::ForegroundTable> table, bool kept) noexcept;

  std::unique_ptr<const detail::ForegroundTable> table_;
  bool kept_ = false;
};

}  // namespace headrace::inline v1
