#pragma once

#include <headrace/engine/base/export.h>
#include <headrace/engine/tensor/dtype.h>
#include <headrace/loaders/volume/chunk_store_volume.h>
#include <headrace/loaders/volume/volume.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>

namespace headrace::inline v1 {

/// What is done so far; chunks include what an interrupted run had done.
struct ChunkStoreProgress {
  bool scanning = false;  ///< looking for the range of values: `chunks` are those that were read
  std::int64_t chunks = 0;
  std::int64_t all_chunks = 0;
  std::int64_t constant = 0;        ///< chunks of one value, which take no room
  std::int64_t resumed = 0;         ///< chunks that were there when this run began
  std::uint64_t source_bytes = 0;   ///< read of the source's file by this run
  std::uint64_t decoded_bytes = 0;  ///< made of them: more than the volume where memory is short
  std::uint64_t bytes = 0;          ///< of the new file
  bool finished = false;            ///< the file has its name
};

struct ChunkStoreOptions {
  std::filesystem::path file{};
  /// Voxels of a chunk along z, y, x; cut to the volume's extents. A chunk holds one channel.
  std::array<std::int64_t, 3> chunk{64, 64, 64};
  ChunkStoreCodec codec = ChunkStoreCodec::lz4;
  int level = 3;  ///< of Zstandard, 1 to 19
  /// uint8, int8, uint16, int16, float16, bfloat16 or float32; none: as the source. Whole numbers
  /// stay what they are where all fit, else they need a clip range; floats are spread over an
  /// integer dtype, from the lowest to the highest value of the volume (which costs a pass of its
  /// own) or of the clip range. What is no number becomes the lowest value.
  std::optional<DType> dtype{};
  /// Values (scaled and offset) below and above become these.
  std::optional<std::array<double, 2>> clip{};
  /// Anything that changes with the source's content, size and time of its file for instance: what
  /// an interrupted run has left is used where it is the same.
  std::uint64_t source_mark = 0;
  int threads = 1;
  /// Bytes of decoded blocks of the source, and never less than one of them. Each is decoded about
  /// once where those fit that two layers of chunks need.
  std::size_t memory = std::size_t{1} << 30;
  /// After each chunk; one thread at a time.
  std::function<void(const ChunkStoreProgress&)> on_progress{};
  std::stop_token stop{};  ///< ends in good order; run again to go on
};

/// Writes any volume into one file for ChunkStoreVolume. While it is being written it is called
/// `file`.partial; when it is whole and on disk, it takes its name. An interrupted run, however it
/// ended, goes on where it was if source and options are the same (else a new file is begun). The
/// bytes do not depend on interruptions or threads. Memory: `memory`, and about ten chunks a
/// thread. Throws ConfigError for options that cannot be right, DataError for a source that cannot
/// be read or does not fit the dtype, ResourceError when the file cannot be written.
HEADRACE_API ChunkStoreProgress write_chunk_store(const Volume& from,
                                                  const ChunkStoreOptions& options);

}  // namespace headrace::inline v1
