#pragma once

#include <headrace/loaders/volume/detail/voxel/voxel_file.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace headrace::inline v1::detail {

/// The bytes of a gzip file, unpacked one after the other, of all members. Nothing is written but
/// what is asked for. Used by one thread; the file must outlive it. Throws DataError by
/// VoxelFile::fail().
class GzipReader {
 public:
  explicit GzipReader(const VoxelFile& file);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  static bool is_gzip(std::span<const std::byte> start) noexcept;
  /// The most bytes that a file of that size can unpack to.
  static std::uint64_t most_bytes(std::uint64_t stored) noexcept;
  /// Memory that a reader takes.
  static constexpr std::size_t working_bytes = std::size_t{320} << 10;

  /// As many as there are, at most all of `to`.
  std::size_t read_some(std::span<std::byte> to);
  void read(std::span<std::byte> to);
  void skip(std::uint64_t bytes);
  /// Fails unless there is no more, checksums are right, and only zeros follow the last member.
  void require_end();
  /// Bytes of the file that were read.
  std::uint64_t stored_bytes() const noexcept { return place_; }

 private:
  struct State;
  bool fill();
  bool next_member();

  const VoxelFile& file_;
  std::uint64_t place_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace headrace::inline v1::detail
