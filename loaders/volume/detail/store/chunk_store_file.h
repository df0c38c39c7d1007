#pragma once

#include <headrace/loaders/file/partial_file.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A chunk store in the making, `path`.partial. Chunks come in order. Entries are written after the
/// bytes they name are on disk, so whatever is there after any end of the process is whole. Throws
/// ResourceError.
class ChunkStoreFile {
 public:
  explicit ChunkStoreFile(std::string path) : file_(std::move(path), "pack") {}

  /// The header that an earlier run began with, if there is one.
  std::optional<ChunkStoreHeader> begun() const;
  /// Goes on with what is there; gives its entries.
  const std::vector<ChunkEntry>& resume(const ChunkStoreHeader& header);
  /// Begins anew.
  void begin(const ChunkStoreHeader& header);

  std::uint64_t bytes() const noexcept { return end_; }
  void append(StoredChunk chunk);
  /// Puts everything appended so far on disk.
  void commit();
  /// commit(), then the header, and the file takes its name.
  void finish();

 private:
  std::uint64_t entry_offset(std::uint64_t chunk) const noexcept {
    return ChunkStoreFormat::page + chunk * ChunkStoreFormat::entry_bytes;
  }

  PartialFile file_;
  ChunkStoreHeader header_;
  std::uint64_t end_ = 0;
  std::uint64_t chunks_ = 0;  ///< entries on disk
  std::uint64_t uncommitted_bytes_ = 0;
  std::chrono::steady_clock::time_point last_commit_ = std::chrono::steady_clock::now();
  std::vector<std::byte> entries_;  ///< not on disk yet
  std::vector<ChunkEntry> resumed_;
};

}  // namespace headrace::inline v1::detail
