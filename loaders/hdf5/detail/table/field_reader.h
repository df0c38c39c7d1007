#pragma once

#include <headrace/engine/sample/source.h>
#include <headrace/loaders/hdf5/hdf5_table.h>
#include <headrace/loaders/hdf5/internal/library_access.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace headrace::inline v1::detail {

/// How the rows of one dataset come out of its file. Const and thread-safe.
class FieldReader {
 public:
  virtual ~FieldReader() = default;

  /// Copies the rows `indices`, which lie inside the dataset. Throws DataError.
  virtual void gather(std::span<const std::int64_t> indices, const RowTargets& out) const = 0;
  /// Memory that it holds, or will.
  virtual std::size_t bytes() const { return 0; }
  /// What it unpacked so far, and what of that was used; nothing where there are no chunks.
  virtual Hdf5ChunkReads chunk_reads() const noexcept { return {}; }
};

/// Copies the dataset to `to`, dataset.bytes long: with large reads by several threads where it
/// lies in one piece, decoding chunks in several threads, through the library else. Throws
/// DataError.
void load_resident(const OpenedFile& file, const Hdf5Dataset& dataset, std::byte* to);

/// Rows by `pread` at their places in the file, sorted and joined. For datasets in one piece.
std::unique_ptr<FieldReader> make_pread_field(std::shared_ptr<const DataFile> file,
                                              const Hdf5Dataset& dataset);

/// A dataset with chunks, and its file.
struct ChunkedPart {
  std::shared_ptr<const DataFile> file;
  Hdf5Dataset dataset;
};

/// Rows out of chunks that are decoded here and kept in at most `memory` bytes, those of all parts
/// together (but one chunk always). One reader a part; their indexes are not counted.
std::vector<std::unique_ptr<FieldReader>> make_chunked_fields(std::vector<ChunkedPart> parts,
                                                              std::size_t memory);

/// A dataset, and who reads it.
struct LibraryPart {
  std::shared_ptr<LibraryAccess> library;
  Hdf5Dataset dataset;
};

/// Rows through the library, sorted so that a chunk is decoded once a call. All parts together take
/// at most `memory` bytes (but one is always open). One reader a part. Throws what opening throws.
std::vector<std::unique_ptr<FieldReader>> make_library_fields(std::vector<LibraryPart> parts,
                                                              std::size_t memory);

}  // namespace headrace::inline v1::detail
