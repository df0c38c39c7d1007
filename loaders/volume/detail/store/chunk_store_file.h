#pragma once

#include <headrace/loaders/internal/indexed_file.h>
#include <headrace/loaders/volume/detail/store/chunk_store_format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headrace::inline v1::detail {

/// A chunk store in the making. Chunks come in order. Throws ResourceError.
class ChunkStoreFile {
 public:
  explicit ChunkStoreFile(std::string path)
      : file_(std::move(path), ChunkStoreFormat::entry_bytes) {}

  /// The header that an earlier run began with, if there is one.
  std::optional<ChunkStoreHeader> begun() const;
  /// Goes on with what is there; gives its entries.
  const std::vector<ChunkEntry>& resume(const ChunkStoreHeader& header);
  /// Begins anew.
  void begin(const ChunkStoreHeader& header);

  std::uint64_t bytes() const noexcept { return end_; }
  void append(StoredChunk chunk);
  /// Puts everything appended so far on disk.
  void commit() { file_.commit(); }
  /// commit(), then the header, and the file takes its name.
  void finish();

 private:
  IndexedFile file_;
  ChunkStoreHeader header_;
  std::uint64_t end_ = 0;
  std::vector<ChunkEntry> resumed_;
};

}  // namespace headrace::inline v1::detail
