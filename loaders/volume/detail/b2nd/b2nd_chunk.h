#pragma once

#include <headrace/loaders/hdf5/internal/chunk_codec.h>
#include <headrace/loaders/volume/detail/array/kept_indexes.h>
#include <headrace/loaders/volume/detail/b2nd/b2nd_frame.h>
#include <headrace/loaders/volume/detail/b2nd/blosc_chunk.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::inline v1::detail {

/// A chunk of a frame: what is read of it once, and how each block is read then.
class B2ndChunk {
 public:
  /// What describes the chunk that begins at that byte of the file. Throws DataError with the rule
  /// alone, as the other; adds the bytes that it reads.
  static KeptIndexes::Index describe(const StoreFile& file, const B2ndFrame& frame,
                                     std::int64_t offset, std::uint64_t& bytes_read);

  /// `described` is what describe() gave, and stays where it is.
  B2ndChunk(const B2ndFrame& frame, std::int64_t offset, const KeptIndexes::Index& described)
      : frame_(frame), offset_(offset), words_(described) {}

  /// Reads and decodes a block, in the byte order of the file; how many bytes it read.
  std::uint64_t read_block(const StoreFile& file, std::size_t block, std::span<std::byte> out,
                           CodecScratch& scratch) const;

 private:
  const B2ndFrame& frame_;
  std::int64_t offset_;
  const KeptIndexes::Index& words_;
};

/// Fills a block of a chunk that lies nowhere, whose offset, below 0, says of what value. Throws
/// DataError with the rule alone.
void fill_b2nd_block(const B2ndFrame& frame, std::int64_t offset, std::span<std::byte> out);

}  // namespace headrace::inline v1::detail
